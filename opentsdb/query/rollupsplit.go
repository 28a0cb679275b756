package query

import (
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// splitAt returns from when on (milliseconds) a sub query reads points instead of the values of an interval: from the
// begin of the interval that its delay leaves open. ok is false if it reads values alone. A value that another function than
// these made cannot be downsampled together with points.
func (e *Engine) splitAt(q *SubQuery) (at int64, ok bool) {
	i := q.readFrom.interval
	if !e.o.SplitRollups || i.Default || i.Delay == 0 || q.readFrom.group {
		return 0, false
	}
	for _, name := range q.readFrom.made(q.downsampling) {
		if !slices.Contains([]string{"sum", "count", "min", "max"}, name) {
			return 0, false
		}
	}
	seconds := uint32(min(max(0, e.o.Now().Add(-i.Delay).Unix()), storage.MaxTime/1000))
	seconds -= (seconds - i.Span.Base(seconds)) % uint32(i.Seconds)
	return int64(seconds) * 1000, true
}

// readSplit leaves out the values of intervals that may not be there yet, and returns the points that are in these, of each series.
//
// It is SplitRollupQuery of OpenTSDB 2.4.1, which answers two queries and appends the second answer to the first: its
// interval in the middle has what each of both knows of it, and a group may come twice.
func (e *Engine) readSplit(ctx context.Context, r *reading, values [][][]rollup.Value) ([]aggregate.Span, error) {
	recent := make([]aggregate.Span, len(values))
	at, ok := e.splitAt(r.query)
	if !ok || at > r.last {
		return recent, nil
	}
	for _, of := range values {
		for n := range of {
			of[n] = slices.DeleteFunc(of[n], func(v rollup.Value) bool { return v.Time >= at })
		}
	}
	limit, _ := e.limit(r.of.members)
	q := storage.Query{Start: max(at, r.plan.Range.ScanStart), End: r.last, Samples: true, MaxSamples: limit}
	for _, m := range r.of.members {
		q.Refs = append(q.Refs, m.Ref)
	}
	i := 0
	for p, err := range e.o.Store.Select(ctx, q) {
		if err != nil {
			return nil, err
		}
		for q.Refs[i] != p.Ref {
			i++
		}
		query.From(ctx).Read(len(p.Times))
		span := spanOf(&p)
		if err := query.AccountOf(ctx).Take(int64(span.Len()) * pointBytes); err != nil {
			return nil, err
		}
		recent[i].Times, recent[i].Values = slices.Clone(span.Times), slices.Clone(span.Values)
	}
	return recent, ctx.Err()
}
