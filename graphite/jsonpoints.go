package graphite

import (
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// points writes the points of a series as pairs of value and time.
func (d *renderRequest) points(j *jsonWriter, s *series.Series) {
	j.open('[')
	defer j.shut(']')
	if !j.pretty {
		d.plainPoints(j, s)
		return
	}
	for at, v := range s.Points() {
		if d.noNulls && math.IsNaN(v) {
			continue
		}
		j.open('[')
		j.float(v)
		j.int(at)
		j.shut(']')
	}
}

// plainPoints writes what open, float, int and shut would, without asking at each step where it is:
// the text of a value that repeats is kept, that of times is counted on.
func (d *renderRequest) plainPoints(j *jsonWriter, s *series.Series) {
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
			if len(j.buf) >= jsonChunk {
				if j.flush(); j.gone {
					break
				}
			}
			j.buf = append(j.buf, ',', ' ')
		} else {
			clock.Set(at)
		}
		before, some = at, true
		if math.Float64bits(v) != math.Float64bits(last) || value == nil {
			value, last = appendJSONFloat(value[:0], v), v
		}
		j.buf = append(append(j.buf, '['), value...)
		j.buf = append(append(append(j.buf, ',', ' '), clock.Text()...), ']')
	}
	j.filled = some
}
