package api

import (
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// points writes the points of a series as pairs of value and time.
func (d *renderRequest) points(j *pyjson.Writer, s *series.Series) {
	j.Open('[')
	defer j.Shut(']')
	if !j.Pretty {
		d.plainPoints(j, s)
		return
	}
	for at, v := range s.Points() {
		if d.noNulls && math.IsNaN(v) {
			continue
		}
		j.Open('[')
		j.Float(v)
		j.Int(at)
		j.Shut(']')
	}
}

// plainPoints writes what open, float, int and shut would, without asking at each step where it is:
// the text of a value that repeats is kept, that of times is counted on.
func (d *renderRequest) plainPoints(j *pyjson.Writer, s *series.Series) {
	var clock decimal.Counter
	var value []byte // the text of last
	last := math.NaN()
	before, some := int64(0), false // no time is below all that a request may ask for
	for at, v := range s.Points() {
		if d.noNulls && math.IsNaN(v) {
			continue
		}
		if some {
			clock.Add(at - before)
			if len(j.Buf) >= pyjson.Chunk {
				if j.Flush(); j.Gone {
					break
				}
			}
			j.Buf = append(j.Buf, ',', ' ')
		} else {
			clock.Set(at)
		}
		before, some = at, true
		if math.Float64bits(v) != math.Float64bits(last) || value == nil {
			value, last = pyjson.AppendFloat(value[:0], v), v
		}
		j.Buf = append(append(j.Buf, '['), value...)
		j.Buf = append(append(append(j.Buf, ',', ' '), clock.Text()...), ']')
	}
	j.Filled = some
}
