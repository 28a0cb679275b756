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

// newBatch returns an empty batch that can hold integers: OpenTSDB keeps integers and floats apart, and computes with integers in integers
// (avg of 1 and 2 is 1).
func newBatch() *storage.Batch { return &storage.Batch{Integers: []bool{}} }

// addPoint appends a point to a batch that can hold integers.
func addPoint(b *storage.Batch, ref storage.Ref, p point) {
	b.Add(ref, p.time, math.Float64frombits(p.bits))
	b.Integers[len(b.Integers)-1] = p.integer
}

// join appends the points of another batch.
func join(b, other *storage.Batch) {
	b.Refs = append(b.Refs, other.Refs...)
	b.Times = append(b.Times, other.Times...)
	b.Values = append(b.Values, other.Values...)
	b.Integers = append(b.Integers, other.Integers...)
}
