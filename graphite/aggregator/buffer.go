package aggregator

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// buffer is the values of one output.
type buffer struct {
	name      string
	rule      *conf.AggregationRule
	method    *method
	intervals []*interval // ascending
	closed    bool
}

// interval is the values of one interval.
type interval struct {
	start  int64 // seconds since the epoch
	count  int64
	folded float64   // of a method that needs no single values
	values []float64 // of one that does
	active bool      // a value came since it was last computed
}

// What a buffer and an interval take beside names and values, in bytes.
const (
	bufferBytes   = 256
	intervalBytes = 80
)

func newBuffer(t *Target) *buffer {
	return &buffer{name: t.name, rule: t.rule, method: methods[t.rule.Method]}
}

func (b *buffer) cost() int64 { return int64(len(b.name)) + bufferBytes }

func (b *buffer) intervalCost(v *interval) int64 { return intervalBytes + v.count*b.method.cost }

// find returns the interval that begins at a second; nil, and what it would take, if it is not there.
func (b *buffer) find(start int64) (v *interval, cost int64) {
	if n := len(b.intervals); n > 0 && b.intervals[n-1].start == start {
		return b.intervals[n-1], 0
	}
	if i, found := b.place(start); found {
		return b.intervals[i], 0
	}
	return nil, intervalBytes
}

func (b *buffer) insert(start int64) *interval {
	i, _ := b.place(start)
	v := &interval{start: start}
	b.intervals = slices.Insert(b.intervals, i, v)
	return v
}

func (b *buffer) place(start int64) (int, bool) {
	return slices.BinarySearchFunc(b.intervals, start, func(v *interval, start int64) int { return int(v.start - start) })
}
