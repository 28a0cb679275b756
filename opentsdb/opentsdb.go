// Package opentsdb is the door of OpenTSDB's own clients: telnet put and HTTP put on one port, as a TSD 2.4 has them, with its statuses and
// its texts. It never knows how series or points are stored, and never translates a name: what a TSD would store stands in the tables
// under the very same names. What a TSD would spoil in silence (a letter above U+00FF becomes "?") is refused.
//
// Unlike a TSD it answers an HTTP put only when its points are durable, whether the request says sync or not, and holds what telnet
// sends until it is.
package opentsdb

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
)

// newBatch returns an empty batch of values of any form: OpenTSDB keeps integers and floats apart, computes with integers in integers (avg of 1 and 2
// is 1), and refuses to answer where an instant has two floats of different length.
func newBatch() *storage.Batch { return &storage.Batch{Forms: []storage.Form{}} }

// addPoint appends a point whose floats have a form. Only of a whole second is it worth saying how it came.
func addPoint(b *storage.Batch, ref storage.Ref, p point, floats storage.Form) {
	if p.integer {
		floats = storage.FormInteger
	}
	if p.millis && p.time%1000 == 0 {
		floats |= storage.FormMillis
	}
	b.AddForm(ref, p.time, math.Float64frombits(p.bits), floats)
}

// join appends the points of another batch.
func join(b, other *storage.Batch) {
	b.Refs = append(b.Refs, other.Refs...)
	b.Times = append(b.Times, other.Times...)
	b.Values = append(b.Values, other.Values...)
	b.Forms = append(b.Forms, other.Forms...)
}
