// Package opentsdb is the door of OpenTSDB's own clients: telnet put and HTTP put on one port, as a TSD 2.4 has them, with its statuses and
// its texts. It never knows how series or points are stored, and never translates a name: what a TSD would store stands in the tables
// under the very same names. What a TSD would spoil in silence (a letter above U+00FF becomes "?") is refused.
//
// Unlike a TSD it answers an HTTP put only when its points are durable, whether the request says sync or not, and holds what telnet
// sends until it is.
package opentsdb

import (
	"context"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Batch is a storage.Batch whose points know which of them were sent as integers. OpenTSDB keeps integers and floats apart, and computes
// with integers in integers (avg of 1 and 2 is 1).
type Batch struct {
	storage.Batch
	// Integers is as long as Values. Where it is true, the 64 bits of the integer are those of Values[i] (math.Float64frombits of them).
	Integers []bool
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Batch.Reset()
	b.Integers = b.Integers[:0]
}

// add appends a point.
func (b *Batch) add(ref storage.Ref, p point) {
	b.Add(ref, p.time, math.Float64frombits(p.bits))
	b.Integers = append(b.Integers, p.integer)
}

// join appends the points of another batch.
func (b *Batch) join(other *Batch) {
	b.Refs = append(b.Refs, other.Refs...)
	b.Times = append(b.Times, other.Times...)
	b.Values = append(b.Values, other.Values...)
	b.Integers = append(b.Integers, other.Integers...)
}

// An Appender is a storage.Appender for points some of which are integers.
type Appender interface {
	Resolve(ctx context.Context, series []storage.Series) (refs []storage.Ref, errs []error)
	Append(ctx context.Context, batch *Batch) error
}

// Floats returns an Appender over one that knows floats only: integers become the nearest ones.
func Floats(a storage.Appender) Appender { return floats{a} }

type floats struct{ storage.Appender }

// Append implements Appender. The batch is changed, as its owner may append it again: nothing in it is an integer any more.
func (f floats) Append(ctx context.Context, b *Batch) error {
	for i, integer := range b.Integers {
		if integer {
			b.Values[i], b.Integers[i] = float64(int64(math.Float64bits(b.Values[i]))), false
		}
	}
	return f.Appender.Append(ctx, &b.Batch)
}
