package query

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
)

// A Way is a way to read rows.
type Way uint8

// The ways. The first five are those of a store's plans.
const (
	Rows    Way = iota // by key
	Near               // by key, near to each other
	Range              // a range of a metric
	Fuzzy              // a range with leaps
	Regexp             // a range with a regexp
	Head               // from memory: points that are not in the table yet
	Archive            // slots of Graphite's coarse archives
	Rollup             // OpenTSDB's rollup tables
	ways
)

// String names the way as the API does.
func (w Way) String() string {
	return [ways]string{"rows", "near", "range", "fuzzy", "regexp", "head", "archive", "rollup"}[w]
}

// Counts is how much was read.
type Counts struct {
	// Plans is how many plans chose the way: one for each metric, salt bucket and group of series.
	Plans int64 `json:"plans,omitempty"`
	// Asked is how many rows were asked for by their keys or gone over by a scan; Rows is how many of
	// them were there.
	Asked int64 `json:"asked"`
	Rows  int64 `json:"rows"`
	Cells int64 `json:"cells"`
	// Bytes are those of the cells, as the engine shows them: not compressed, without the keys of rows.
	Bytes int64 `json:"bytes"`
}

// A WayCounts is what was read in one way.
type WayCounts struct {
	Way string `json:"way"`
	Counts
}

// A Tally counts. It is safe for concurrent use. A nil Tally counts nothing.
type Tally struct {
	whole *Tally
	ways  [ways]struct{ plans, asked, rows, cells, bytes atomic.Int64 }
}

// Add counts what was read in a way.
func (t *Tally) Add(w Way, c Counts) {
	if c == (Counts{}) {
		return
	}
	for ; t != nil; t = t.whole {
		of := &t.ways[w]
		of.plans.Add(c.Plans)
		of.asked.Add(c.Asked)
		of.rows.Add(c.Rows)
		of.cells.Add(c.Cells)
		of.bytes.Add(c.Bytes)
	}
}

func (t *Tally) of(w Way) Counts {
	of := &t.ways[w]
	return Counts{of.plans.Load(), of.asked.Load(), of.rows.Load(), of.cells.Load(), of.bytes.Load()}
}

// Ways returns what was read in each way that was used, in the order of the constants.
func (t *Tally) Ways() []WayCounts { return MergeWays(t) }

// MergeWays returns the ways of several tallies. They may be nil.
func MergeWays(all ...*Tally) []WayCounts {
	list := []WayCounts{}
	for w := range ways {
		var sum Counts
		for _, t := range all {
			if t != nil {
				sum = sum.plus(t.of(w))
			}
		}
		if sum != (Counts{}) {
			list = append(list, WayCounts{w.String(), sum})
		}
	}
	return list
}

func (c Counts) plus(d Counts) Counts {
	return Counts{c.Plans + d.Plans, c.Asked + d.Asked, c.Rows + d.Rows, c.Cells + d.Cells, c.Bytes + d.Bytes}
}

// SumWays adds up what was read in several ways.
func SumWays(list []WayCounts) (sum Counts) {
	for _, w := range list {
		sum = sum.plus(w.Counts)
	}
	return sum
}

// WaysText names the ways with their rows, for logs: near=1200 head=20.
func WaysText(list []WayCounts) string {
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = w.Way + "=" + strconv.FormatInt(w.Rows, 10)
	}
	return strings.Join(texts, " ")
}

// BeginTally returns a context with a tally of its own, which is a part of that of ctx, if there is one.
func BeginTally(ctx context.Context) (context.Context, *Tally) {
	t := &Tally{whole: TallyOf(ctx)}
	return with(ctx, func(h *handle) { h.tally = t }), t
}
