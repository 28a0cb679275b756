package formats

import (
	"errors"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

var errOtherSlots = errors.New("format=dygraph wants series with the same number of points: they differ here")

// dygraphSlots returns the number of times of an answer: those of the first series.
func dygraphSlots(list []*series.Series) int64 {
	s := list[0]
	if s.Step <= 0 || s.End <= s.Start {
		return 0
	}
	return (s.End - s.Start + s.Step - 1) / s.Step
}

// checkDygraph refuses series that do not share their times. graphite-web fails on them.
func checkDygraph(list []*series.Series) error {
	for _, s := range list {
		if int64(len(s.Values)) != dygraphSlots(list) {
			return errOtherSlots
		}
	}
	return nil
}

// writeDygraph writes a row for each time, in milliseconds, with the values of all series. Infinities are
// written as in JSON's other answers; graphite-web's Infinity is no JSON.
func writeDygraph(j *pyjson.Writer, list []*series.Series, _ *time.Location) {
	if len(list) == 0 {
		j.Text("{}")
		return
	}
	j.Text(`{"labels" : ["Time"`)
	for _, s := range list {
		j.Text(", ")
		WriteName(j, s)
	}
	j.Text(`], "data" : [`)
	at := list[0].Start
	for i := range dygraphSlots(list) {
		j.Next()
		if i > 0 {
			j.Text(", ")
		}
		j.Buf = strconv.AppendInt(append(j.Buf, '['), at*1000, 10)
		for _, s := range list {
			j.Buf = pyjson.AppendFloat(append(j.Buf, ", "...), s.Values[i])
		}
		j.Buf = append(j.Buf, ']')
		at += list[0].Step
	}
	j.Text("]}")
}
