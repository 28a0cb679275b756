package query

import (
	"context"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// Rollups are values of longer intervals, and of groups of series; those of a store are one.
type Rollups interface {
	Config() *rollup.Config
	Read(ctx context.Context, q rollup.Query) ([][][]rollup.Value, error)
}

// A source is where the values of a sub query are read: from the points (no interval), or from the
// values of an interval.
type source struct {
	interval *rollup.Interval
	group    bool // of groups of series
}

// name is what showQuery shows.
func (s source) name() string {
	if s.interval == nil || s.interval.Default {
		return "raw"
	}
	return s.interval.Name
}

// sources returns where a sub query is read, one after the other until there is something: the longest
// interval that its downsampling consists of, and, as far as rollupUsage says so, shorter ones and the
// points.
//
// It is TsdbQuery.transformDownSamplerToRollupQuery and FallbackRollupOnEmptyResult of OpenTSDB 2.4.1,
// except that points are downsampled as the query says where a TSD takes the interval of the rollup.
func (e *Engine) sources(q *SubQuery) []source {
	if e.o.Rollups == nil || q.ofHistograms() {
		return []source{{}}
	}
	points := source{}
	if all := e.o.Rollups.Config().Default(); q.PreAggregate && all.Keeps(true) {
		points = source{all, true}
	}
	usage := strings.ToUpper(q.RollupUsage)
	if q.downsampling == nil || q.downsampling.All || usage == "ROLLUP_RAW" {
		return []source{points}
	}
	var list []source
	for _, interval := range e.o.Rollups.Config().Fitting(q.downsampling.Interval / 1000) {
		if interval.Default {
			return append(list, points)
		}
		switch list = append(list, source{interval, q.PreAggregate}); usage {
		case "ROLLUP_FALLBACK":
		case "ROLLUP_FALLBACK_RAW":
			return append(list, points)
		default:
			return list
		}
	}
	if len(list) == 0 {
		return []source{points}
	}
	return list
}

// made returns the names of the aggregations that made the values which a downsampling needs.
func (s source) made(d *aggregate.Downsampling) []string {
	if s.interval.Default {
		return nil
	}
	function := d.Function.Name
	if function == "avg" {
		return []string{"sum", "count"}
	}
	if plain, ok := map[string]string{"zimsum": "sum", "mimmax": "max", "mimmin": "min"}[function]; ok {
		return []string{plain}
	}
	return []string{function}
}

// rolledPlan returns what is computed of values of an interval.
func (q *SubQuery) rolledPlan(r *Request) *aggregate.Plan {
	s := q.readFrom
	p := q.plan(r)
	if s.interval.Default {
		return p
	}
	start, end := p.Range.Seconds()
	from := s.interval.Span.Base(uint32(start))
	if q.Rate && from > 0 {
		from = s.interval.Span.Base(from - 1) // for the first rate
	}
	to := s.interval.Span.Base(uint32(min(end+int64(s.interval.Span.Seconds()), storage.MaxTime/1000)))
	p.Range = aggregate.RolledRange(p.Range.Start, p.Range.End, int64(from)*1000, int64(to)*1000)
	return p
}

// discoverRolled has the catalog know the series that have values in the interval's table.
func (e *Engine) discoverRolled(ctx context.Context, q *SubQuery, r aggregate.Range) error {
	if q.Metric == "" {
		return nil // series are named by their TSUIDs
	}
	uids, err := e.o.Names.Lookup(ctx, storage.MetricName, []string{q.Metric})
	if err != nil || uids[0] == "" {
		return err
	}
	from, to := seconds(r)
	return e.o.Catalog.DiscoverRolled(ctx, q.readFrom.interval.TableOf(q.readFrom.group), uids[0], from, to)
}

// canRead returns an error, in a TSD's words, if the table cannot have values that the downsampling needs.
func (e *Engine) canRead(q *SubQuery) error {
	for _, name := range q.readFrom.made(q.downsampling) {
		if _, ok := e.o.Rollups.Config().IDs[name]; !ok {
			return RequestError{"No ID found mapping to aggregator: " + name}
		}
	}
	return nil
}

// seconds returns the range in which rows are read, inclusive.
func seconds(r aggregate.Range) (from, to uint32) {
	return uint32(max(0, r.ScanStart) / 1000), uint32(min(max(0, r.ScanEnd-1), storage.MaxTime) / 1000)
}

// answerRolled answers a sub query from the values of an interval.
func (e *Engine) answerRolled(ctx context.Context, r *reading, whole bool) ([]Group, error) {
	if err := r.traced(ctx, func(ctx context.Context) error { return e.readRolled(ctx, r) }); err != nil {
		return nil, err
	}
	return r.computed(ctx, whole)
}

// readRolled reads the values of an interval into groups.
func (e *Engine) readRolled(ctx context.Context, r *reading) error {
	q, s := r.query, r.query.readFrom
	limit, _ := e.limit(r.of.members)
	asked := rollup.Query{
		Interval: s.interval, Group: s.group, Aggregations: s.made(q.downsampling), MaxValues: limit,
	}
	asked.From, asked.To = seconds(r.plan.Range)
	for _, m := range r.of.members {
		asked.TSUIDs = append(asked.TSUIDs, m.tsuid)
	}
	r.groups = make([]readGroup, r.of.groups)
	values, err := e.o.Rollups.Read(ctx, asked)
	if err != nil {
		return err
	}
	recent, err := e.readSplit(ctx, r, values)
	if err != nil {
		return err
	}
	turn := query.TurnOf(ctx)
	for i, of := range values {
		if err := r.addRolled(ctx, i, of, s, recent[i]); err != nil {
			return err
		}
		if err := turn.Yield(ctx); err != nil {
			return err
		}
	}
	return nil
}

// addRolled adds a series, by its number, with its values by each aggregation, and points that are later.
func (r *reading) addRolled(ctx context.Context, i int, of [][]rollup.Value, from source, recent aggregate.Span) error {
	spans := make([]aggregate.Span, len(of))
	for n, values := range of {
		query.From(ctx).Read(len(values))
		spans[n] = rolledSpan(values, r.plan.Downsampling == nil)
	}
	for n, name := range from.made(r.query.downsampling) {
		for k, at := range recent.Times {
			v := recent.Values[k]
			if name == "count" {
				v = 1
			}
			spans[n].Add(at, v)
		}
	}
	if len(spans) == 2 {
		spans[0], spans[1] = aggregate.Common(spans[0], spans[1])
	}
	if spans[0].Len() == 0 {
		return nil
	}
	span, err := r.rolledMember(spans, from)
	if err != nil {
		return err
	}
	if err := query.AccountOf(ctx).Take(int64(span.Len()) * pointBytes); err != nil {
		return err
	}
	g := &r.groups[r.of.of[i]]
	if g.Group == nil {
		g.Group = r.plan.Group()
	}
	g.Add(span)
	g.members = append(g.members, int32(i))
	return nil
}

func (r *reading) rolledMember(spans []aggregate.Span, from source) (aggregate.Span, error) {
	switch {
	case len(spans) == 2:
		return r.plan.MemberOfMeans(spans[0], spans[1])
	case !from.interval.Default && r.plan.Downsampling.Function.Name == "count":
		return r.plan.MemberOfCounts(spans[0])
	}
	return r.plan.Member(spans[0], nil)
}

// rolledSpan returns values as points. Integers are kept as such where nothing is downsampled.
func rolledSpan(values []rollup.Value, integers bool) (s aggregate.Span) {
	for i := range values {
		if p := &values[i].Point; integers && p.IsInt() {
			s.AddLong(values[i].Time, p.Int())
		} else {
			s.Add(values[i].Time, p.Float())
		}
	}
	return s
}
