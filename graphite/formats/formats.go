// Package formats writes series in the formats of /render but JSON and pictures.
package formats

import (
	"math"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// A Format is a form in which /render answers. Only json has pretty, tags, maxDataPoints and
// noNullPoints of its own, as in graphite-web.
type Format struct {
	ContentType string
	IsJSON      bool // it may be the argument of a call (jsonp)
	// Check returns why series cannot be written; nil: they always can.
	Check func(list []*series.Series) error
	Write func(j *pyjson.Writer, list []*series.Series, zone *time.Location)
}

// All are those of graphite-web but for json and pictures, by their names.
func All() map[string]Format {
	return map[string]Format{
		"csv":      {ContentType: "text/csv", Write: writeCSV},
		"raw":      {ContentType: "text/plain", Write: writeRaw},
		"dygraph":  {ContentType: pyjson.ContentType, IsJSON: true, Check: checkDygraph, Write: writeDygraph},
		"rickshaw": {ContentType: pyjson.ContentType, IsJSON: true, Write: writeRickshaw},
		"pickle":   {ContentType: "application/pickle", Write: writePickle},
		"msgpack":  {ContentType: "application/x-msgpack", Write: writeMsgpack},
	}
}

// TextName is the name of a series in formats without a word for none.
func TextName(s *series.Series) string {
	if s.Unnamed {
		return "None"
	}
	return s.Name
}

// appendPythonFloat appends a value as Python's repr writes it, and none as otherwise.
func appendPythonFloat(buf []byte, v float64, none string) []byte {
	switch {
	case math.IsNaN(v):
		return append(buf, none...)
	case math.IsInf(v, 1):
		return append(buf, "inf"...)
	case math.IsInf(v, -1):
		return append(buf, "-inf"...)
	}
	return python.AppendFloat(buf, v)
}

// WriteName writes the name of a series; null for one without.
func WriteName(j *pyjson.Writer, s *series.Series) {
	if s.Unnamed {
		j.Word("null")
	} else {
		j.String(s.Name)
	}
}

// WriteTags writes tags as an object, in the order of their keys.
func WriteTags(j *pyjson.Writer, tags map[string]string) {
	keys := make([]string, 0, len(tags))
	for k := range tags {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	j.Open('{')
	for _, k := range keys {
		j.Key(k)
		j.String(tags[k])
	}
	j.Shut('}')
}
