package query

import (
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/turns"
)

// A reading reads the series of a sub query into their groups.
type reading struct {
	plan   *aggregate.Plan
	of     *grouping
	groups []readGroup
}

// A readGroup is a group with the members that have points.
type readGroup struct {
	*aggregate.Group
	members []member
}

func newReading(plan *aggregate.Plan, g *grouping) *reading {
	return &reading{plan: plan, of: g, groups: make([]readGroup, g.groups)}
}

// read reads all series, in their order.
func (e *Engine) read(ctx context.Context, r *reading) error {
	refs := make([]storage.Ref, len(r.of.members))
	for i, m := range r.of.members {
		refs[i] = m.Ref
	}
	q := storage.Query{
		Refs: refs, Start: r.plan.Range.ScanStart, End: r.plan.Range.ScanEnd - 1, MaxSamples: e.o.MaxPoints,
		Samples: true, Integers: r.plan.Downsampling == nil, // which computes with floats
	}
	if err := e.o.Store.SelectParts(ctx, q, func() storage.PartWorker { return &readWorker{reading: r} }); err != nil {
		return err
	}
	return ctx.Err()
}

// A readWorker is one core's.
type readWorker struct {
	*reading
	from  int
	spans []aggregate.Span // of the series of the part
	empty []bool           // which of them have no points
}

// pointBytes is what the budget counts for a point of a member.
const pointBytes = 32

// Take implements storage.PartWorker: it computes what concerns one series alone.
func (w *readWorker) Take(ctx context.Context, p storage.Part) error {
	w.from, w.spans, w.empty = p.From, w.spans[:0], w.empty[:0]
	points, kept := 0, 0
	for _, s := range p.Points {
		span, err := w.plan.Member(spanOf(&s))
		if err != nil {
			return err
		}
		if w.plan.Downsampling == nil && w.plan.Rate == nil {
			span.Times, span.Values = slices.Clone(span.Times), slices.Clone(span.Values)
		}
		points += len(s.Times)
		kept += span.Len()
		w.spans, w.empty = append(w.spans, span), append(w.empty, len(s.Times) == 0)
	}
	running.From(ctx).Read(points)
	if err := budget.From(ctx).Take(int64(kept) * pointBytes); err != nil {
		return err
	}
	return ctx.Err()
}

// spanOf returns the points of a series, whose times and values are still those of the store.
func spanOf(p *storage.Points) aggregate.Span {
	s := aggregate.Span{Times: p.Times, Values: p.Values}
	if len(p.Integers) == 0 {
		return s
	}
	s.Longs, s.IsLong = make([]int64, len(p.Times)), make([]bool, len(p.Times))
	at := 0
	for i, t := range p.Times {
		if at < len(p.Integers) && p.Integers[at].Time == t {
			s.Longs[i], s.IsLong[i] = p.Integers[at].Value, true
			at++
		}
	}
	return s
}

// Commit implements storage.PartWorker: groups get their members in order.
func (w *readWorker) Commit(context.Context) error {
	for i, span := range w.spans {
		if w.empty[i] {
			continue
		}
		g := &w.groups[w.of.of[w.from+i]]
		if g.Group == nil {
			g.Group = w.plan.Group()
		}
		g.Add(span)
		g.members = append(g.members, w.of.members[w.from+i])
	}
	return nil
}

// results computes the groups that have members.
func (r *reading) results(ctx context.Context) (out []Group, err error) {
	turn := turns.From(ctx)
	for i := range r.groups {
		g := &r.groups[i]
		if g.Group == nil {
			continue
		}
		span, err := r.plan.Result(g.Group, func() error { return turn.Yield(ctx) })
		if err != nil {
			return nil, err
		}
		out = append(out, newGroup(g.members, span))
	}
	return out, nil
}
