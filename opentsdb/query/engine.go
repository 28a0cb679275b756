package query

import (
	"context"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Catalog knows series and their UIDs; that of a store is one.
type Catalog interface {
	TSUIDOf(ref storage.Ref) []byte
	Refs(tsuids [][]byte) ([]storage.Ref, error)
	// FindLost and NameLost return series that have values without a name too: storage.LostName tells which.
	FindLost(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error)
	NameLost(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
	DiscoverRolled(ctx context.Context, table, metric string, lo, hi uint32) error
	RolledTimes(start, end int64) (from, to int64)
}

// Dictionary looks up the UIDs of names; an unknown name has "".
type Dictionary interface {
	Lookup(ctx context.Context, kind storage.NameKind, names []string) ([]string, error)
}

// Options are what an Engine needs. MaxSeries and MaxPoints bound what one sub query may read; 0: no
// limit.
type Options struct {
	Store     storage.Querier
	Catalog   Catalog
	Names     Dictionary
	Notes     Notes
	Layout    schema.Layout
	MaxSeries int
	MaxPoints int
	// HistogramCodec is the id of the codec of histograms; nil: there are none.
	HistogramCodec *byte
	// PointsOf, if set, returns a smaller limit of the points of a metric; 0: none.
	PointsOf func(metric string) int
	Now      func() time.Time
	// Rollups, if set, are read where the downsampling of a query consists of their intervals.
	Rollups Rollups
	// SplitRollups has queries read points from where the values of intervals may not be there yet.
	SplitRollups bool
	// Deleter deletes what queries with delete=true have answered; nil: they are refused.
	Deleter Deleter
}

// An Engine answers requests.
type Engine struct {
	finder

	o Options
}

// NewEngine returns an engine over a store.
func NewEngine(o Options) *Engine {
	return &Engine{finder{o.Catalog, o.Names, o.Layout, o.MaxSeries}, o}
}

// Answer computes the answer to a request that was checked.
func (e *Engine) Answer(ctx context.Context, r *Request) (*Answer, error) {
	ctx = WithSteps(ctx)
	a := &Answer{Request: r}
	var err error
	if a.Globals, err = e.GlobalsOf(ctx, r); err != nil {
		return nil, err
	}
	for i := range r.Queries {
		groups, err := e.answer(ctx, r, i, false)
		if err != nil {
			return nil, err
		}
		a.Groups = append(a.Groups, groups...)
	}
	return a, nil
}

// answer answers one sub query, or if whole with all that was read for it.
func (e *Engine) answer(ctx context.Context, r *Request, index int, whole bool) (groups []Group, err error) {
	q := &r.Queries[index]
	step := query.TraceOf(ctx).Enter("query", q.String())
	defer step.End()
	for _, from := range e.sources(q) {
		q.readFrom = from
		if groups, err = e.answerFrom(ctx, r, q, whole); err != nil || len(groups) > 0 {
			break
		}
	}
	points := 0
	for i := range groups {
		groups[i].query = index
		points += groups[i].Points.Len()
	}
	if err == nil {
		step.Result(len(groups), points)
	}
	return groups, err
}

// answerFrom answers a sub query from where it is to be read.
func (e *Engine) answerFrom(ctx context.Context, r *Request, q *SubQuery, whole bool) ([]Group, error) {
	rolled := q.readFrom.interval != nil
	plan := q.plan(r)
	start, end := plan.Range.ScanStart, q.lastRead(plan)
	if rolled {
		if err := q.readFrom.interval.Separable(q.readFrom.group); err != nil {
			return nil, RequestError{strings.TrimPrefix(err.Error(), storage.ErrInvalid.Error()+": ")}
		}
		plan = q.rolledPlan(r)
		if err := e.discoverRolled(ctx, q, plan.Range); err != nil {
			return nil, err
		}
		start, end = e.o.Catalog.RolledTimes(plan.Range.ScanStart, q.lastRead(plan))
	}
	finding := query.TraceOf(ctx).Enter("find series", "")
	found, err := e.find(ctx, q, start, end)
	if err == nil {
		finding.Result(len(found), 0)
	}
	finding.End()
	if err == nil && rolled {
		err = e.canRead(q)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if r.Delete {
		for _, m := range found {
			q.meant = append(q.meant, m.Ref)
		}
	}
	g, err := e.newGrouping(ctx, q, found)
	if err != nil {
		return nil, err
	}
	read := newReading(r, q, plan, g)
	switch {
	case rolled:
		return e.answerRolled(ctx, read, whole)
	case q.ofHistograms():
		return e.answerHistograms(ctx, read, whole)
	}
	return e.answerPoints(ctx, read, whole)
}

func (e *Engine) answerPoints(ctx context.Context, r *reading, whole bool) ([]Group, error) {
	if err := r.traced(ctx, func(ctx context.Context) error { return e.read(ctx, r) }); err != nil {
		return nil, err
	}
	return r.computed(ctx, whole)
}

// computed computes the groups of points that were read.
func (r *reading) computed(ctx context.Context, whole bool) ([]Group, error) {
	points := (*aggregate.Plan).Result
	if whole {
		points = (*aggregate.Plan).Whole
	}
	return r.results(ctx, points)
}

// lastRead returns the last instant that is read. With explicit tags a TSD also reads the rows of the hour
// after the last one.
func (q *SubQuery) lastRead(p *aggregate.Plan) int64 {
	last := p.Range.ScanEnd - 1
	if q.ExplicitTags && len(q.Filters) > 0 {
		last += time.Hour.Milliseconds()
	}
	return last
}
