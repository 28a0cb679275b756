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
