package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A reading reads the series of a sub query into their groups.
type reading struct {
	request *Request
	query   *SubQuery
	plan    *aggregate.Plan
	last    int64 // the last instant that is read
	of      *grouping
	groups  []readGroup // of points
}

// A readGroup is a group with the members that have points, and the annotations of all members.
type readGroup struct {
	*aggregate.Group
	members     []int32 // places in the grouping
	annotations []storage.Annotation
}

func newReading(r *Request, q *SubQuery, plan *aggregate.Plan, g *grouping) *reading {
	return &reading{request: r, query: q, plan: plan, last: q.lastRead(plan), of: g}
}

// read reads the points of all series.
func (e *Engine) read(ctx context.Context, r *reading) error {
	r.groups = make([]readGroup, r.of.groups)
	q := storage.Query{Samples: true, Integers: r.plan.Downsampling == nil} // else it computes with floats
	return e.readInto(ctx, r, q, func() storage.PartWorker { return &readWorker{reading: r} })
}

// readInto reads all series, in their order: what q asks for.
func (e *Engine) readInto(ctx context.Context, r *reading, q storage.Query, worker func() storage.PartWorker) error {
	q.Start, q.End, q.Annotations = r.plan.Range.ScanStart, r.last, !r.request.NoAnnotations
	for _, m := range r.of.members {
		q.Refs = append(q.Refs, m.Ref)
	}
	limit, own := e.limit(r.of.members)
	q.MaxSamples = limit
	query.TurnOf(ctx).Expect(query.Work(len(q.Refs), (q.End-q.Start)/60_000)) // Reading yields.
	if err := e.o.Store.SelectParts(ctx, q, worker); err != nil {
		if own && errors.Is(err, storage.ErrLimit) {
			return fmt.Errorf("%w: Sorry, you have attempted to fetch more than our limit of %d data points. Please try filtering using more tags or decrease your time range.",
				storage.ErrLimit, limit)
		}
		return err
	}
	return ctx.Err()
}

// limit returns how many points may be read; own means that it is of the metric.
func (e *Engine) limit(members []member) (points int, own bool) {
	if e.o.PointsOf == nil || len(members) == 0 {
		return e.o.MaxPoints, false
	}
	of := e.o.PointsOf(members[0].Metric)
	if of == 0 || e.o.MaxPoints > 0 && of > e.o.MaxPoints {
		return e.o.MaxPoints, false
	}
	return of, true
}

// A readWorker is one core's.
type readWorker struct {
	*reading
	from  int
	room  aggregate.Room
	spans []aggregate.Span // of the series of the part
	empty []bool           // which of them have no points until the end of the range
	notes [][]storage.Annotation
}

// pointBytes is what the budget counts for a point of a member.
const pointBytes = 32

// Take implements storage.PartWorker: it computes what concerns one series alone.
func (w *readWorker) Take(ctx context.Context, p storage.Part) error {
	w.from, w.spans, w.empty, w.notes = p.From, w.spans[:0], w.empty[:0], w.notes[:0]
	points, kept := 0, 0
	for _, s := range p.Points {
		own := spanOf(&s)
		span, err := w.plan.Member(own, &w.room)
		if err != nil {
			return err
		}
		if w.plan.Downsampling == nil && w.plan.Rate == nil {
			span.Times, span.Values = slices.Clone(span.Times), slices.Clone(span.Values)
		}
		points += len(s.Times)
		kept += span.Len()
		notes, err := parseAnnotations(ctx, s.Annotations)
		if err != nil {
			return err
		}
		w.spans, w.empty, w.notes = append(w.spans, span), append(w.empty, own.Len() == 0 || own.Times[0] > w.plan.Range.ScanEnd), append(w.notes, notes)
	}
	query.From(ctx).Read(points)
	if err := query.AccountOf(ctx).Take(int64(kept) * pointBytes); err != nil {
		return err
	}
	return ctx.Err()
}

// spanOf returns the points of a series that OpenTSDB has a form for: NaN (stale markers too) and infinities are
// in cells that a TSD passes over. Times and values may still be those of the store.
func spanOf(p *storage.Points) aggregate.Span {
	s := aggregate.Span{Times: p.Times, Values: p.Values}
	if slices.ContainsFunc(p.Values, isSpecial) {
		s.Times, s.Values = withoutSpecial(p)
	}
	if len(p.Integers) == 0 {
		return s
	}
	s.Longs, s.IsLong = make([]int64, len(s.Times)), make([]bool, len(s.Times))
	at := 0
	for i, t := range s.Times {
		if at < len(p.Integers) && p.Integers[at].Time == t {
			s.Longs[i], s.IsLong[i] = p.Integers[at].Value, true
			at++
		}
	}
	return s
}

// isSpecial reports whether a value is NaN or infinite.
func isSpecial(v float64) bool { return v-v != 0 }

func withoutSpecial(p *storage.Points) (times []int64, values []float64) {
	times, values = make([]int64, 0, len(p.Times)), make([]float64, 0, len(p.Times))
	for i, v := range p.Values {
		if !isSpecial(v) {
			times, values = append(times, p.Times[i]), append(values, v)
		}
	}
	return times, values
}

// Commit implements storage.PartWorker: groups get their members in order.
func (w *readWorker) Commit(context.Context) error {
	for i, span := range w.spans {
		g := &w.groups[w.of.of[w.from+i]]
		g.annotations = append(g.annotations, w.notes[i]...)
		if w.empty[i] {
			continue
		}
		if g.Group == nil {
			g.Group = w.plan.Group()
			if w.of.groups == 1 {
				g.Reserve(len(w.of.members))
				g.members = make([]int32, 0, len(w.of.members))
			}
		}
		g.Add(span)
		g.members = append(g.members, int32(w.from+i))
	}
	return nil
}

// A resulting computes the points of a group.
type resulting func(p *aggregate.Plan, g *aggregate.Group, pause func() error) (aggregate.Span, error)

// results computes the groups that have members. One that has annotations alone is there too, without
// its name, as a TSD has it.
func (r *reading) results(ctx context.Context, points resulting) (out []Group, err error) {
	turn := query.TurnOf(ctx)
	for i := range r.groups {
		g := &r.groups[i]
		if g.Group == nil {
			if len(g.annotations) > 0 {
				out = append(out, Group{Tags: []storage.Tag{}, AggregatedTags: []string{}, Annotations: r.request.shown(g.annotations)})
			}
			continue
		}
		span, err := points(r.plan, g.Group, func() error { return turn.Yield(ctx) })
		if err != nil {
			return nil, err
		}
		group, err := newGroup(r.of.members, g.members, span)
		if err != nil {
			return nil, err
		}
		group.Annotations = r.request.shown(g.annotations)
		out = append(out, group)
	}
	return out, nil
}
