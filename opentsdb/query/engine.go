package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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
type Engine struct{ o Options }

// NewEngine returns an engine over a store.
func NewEngine(o Options) *Engine { return &Engine{o} }

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

// member is a series of an answer.
type member struct {
	storage.Found
	tsuid []byte
}

// find returns the series that a sub query means, in the order of their TSUIDs.
func (e *Engine) find(ctx context.Context, q *SubQuery, start, end int64) ([]member, error) {
	for _, f := range q.Filters {
		if err := query.AccountOf(ctx).Take(f.bytes); err != nil {
			return nil, err
		}
	}
	var found []storage.Found
	var err error
	if len(q.TSUIDs) > 0 {
		if found, err = e.findTSUIDs(ctx, q); err == nil {
			found, err = q.filtered(ctx, found)
		}
	} else {
		found, err = e.findMetric(ctx, q, start, end)
	}
	if err = errors.Join(stepsErr(ctx), err); err != nil {
		return nil, err
	}
	return e.ordered(found), nil
}

// filtered returns the named series that have the values of all filters. A TSD that finds series by their UIDs
// compares each of them. It then takes a series that lacks the tag of a filter of other values, or of a wildcard of
// asterisks alone, though it takes none when it looks for a metric.
func (q *SubQuery) filtered(ctx context.Context, found []storage.Found) ([]storage.Found, error) {
	turn := query.TurnOf(ctx)
	for _, f := range q.Filters {
		if err := turn.Yield(ctx); err != nil {
			return nil, err
		}
		match := f.matcher(stepsOf(ctx))
		if match == nil {
			continue
		}
		var lost error
		found = slices.DeleteFunc(found, func(s storage.Found) bool {
			i := slices.IndexFunc(s.Tags, func(t storage.Tag) bool { return t.Key == f.TagKey })
			if i < 0 {
				return !strings.HasPrefix(f.Type, "not_")
			}
			lost = cmp.Or(lost, storage.LostValue(s.Tags[i].Value))
			return !match(s.Tags[i].Value)
		})
		if lost != nil {
			return nil, lost
		}
	}
	return found, nil
}

// ordered returns series in the order of their TSUIDs, each once.
func (e *Engine) ordered(found []storage.Found) []member {
	type place struct { // small, since sorting moves it
		begin, next uint64 // the first bytes of the TSUID
		at          int
	}
	tsuids, places := make([][]byte, len(found)), make([]place, len(found))
	for i, f := range found {
		tsuids[i] = e.o.Catalog.TSUIDOf(f.Ref)
		var begin [16]byte
		copy(begin[:], tsuids[i])
		places[i] = place{binary.BigEndian.Uint64(begin[:]), binary.BigEndian.Uint64(begin[8:]), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		switch {
		case a.begin != b.begin:
			return cmp.Compare(a.begin, b.begin)
		case a.next != b.next:
			return cmp.Compare(a.next, b.next)
		}
		return bytes.Compare(tsuids[a.at], tsuids[b.at])
	})
	members := make([]member, len(found))
	for i, p := range places {
		members[i] = member{found[p.at], tsuids[p.at]}
	}
	return slices.CompactFunc(members, func(a, b member) bool { return a.Ref == b.Ref })
}

func (e *Engine) findMetric(ctx context.Context, q *SubQuery, start, end int64) ([]storage.Found, error) {
	if err := e.known(ctx, storage.MetricName, "metrics", q.Metric); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(q.Filters))
	for _, f := range q.Filters {
		if err := e.resolve(ctx, f); err != nil {
			return nil, err
		}
		keys = append(keys, f.TagKey)
	}
	uids, err := e.o.Names.Lookup(ctx, storage.TagKeyName, keys)
	if err != nil {
		return nil, err
	}
	uidOf := map[string]string{}
	for i, key := range keys {
		uidOf[key] = uids[i]
	}
	q.nameKeys(uids)
	conditions, named := q.conditions(uidOf, stepsOf(ctx))
	conditions = append([]storage.Filter{{Values: []string{q.Metric}}}, conditions...)
	found, err := e.o.Catalog.FindLost(ctx, conditions, start, end, e.o.MaxSeries)
	if err != nil || !q.ExplicitTags || len(named) == 0 {
		return found, err
	}
	return slices.DeleteFunc(found, func(f storage.Found) bool { return len(f.Tags) != len(named) }), nil
}

// nameKeys keeps the UIDs of the tags that filters name, in their order, which the echo of a query shows.
func (q *SubQuery) nameKeys(uids []string) {
	uids = slices.Compact(slices.Sorted(slices.Values(uids)))
	q.keyUIDs = nil
	for _, uid := range uids {
		q.keyUIDs = append(q.keyUIDs, []byte(uid))
	}
}

// known returns an UnknownNameError for the first name that has no UID.
func (e *Engine) known(ctx context.Context, kind storage.NameKind, what string, names ...string) error {
	uids, err := e.o.Names.Lookup(ctx, kind, names)
	if err != nil {
		return err
	}
	if i := slices.Index(uids, ""); i >= 0 {
		return UnknownNameError{what, names[i]}
	}
	return nil
}

// maxResolved is the number of alternatives up to which a TSD looks up the values of a literal_or
// filter; it is its tsd.query.filter.expansion_limit.
const maxResolved = 4096

// resolve looks up the names of a filter, the values first, as a TSD does: a value that a series must have is
// one that has a UID. One that it must not have need not exist.
func (e *Engine) resolve(ctx context.Context, f Filter) error {
	if f.resolves() {
		if err := e.known(ctx, storage.TagValueName, "tagv", f.literals()...); err != nil {
			return err
		}
	}
	return e.known(ctx, storage.TagKeyName, "tagk", f.TagKey)
}

func (e *Engine) findTSUIDs(ctx context.Context, q *SubQuery) ([]storage.Found, error) {
	width := e.o.Layout.MetricWidth
	var tsuids [][]byte
	for _, text := range q.TSUIDs {
		tsuid, err := parseTSUID(text)
		if err != nil {
			return nil, refused(err)
		}
		if len(tsuid) < width || (len(tsuid)-width)%e.o.Layout.PairWidth() != 0 {
			return nil, RequestError{fmt.Sprintf("TSUID %s has a wrong length", text)}
		}
		if len(tsuids) > 0 && !bytes.Equal(tsuid[:width], tsuids[0][:width]) {
			return nil, SyntaxError{fmt.Errorf("One or more TSUIDs did not share the same metric [%X] [%X]", tsuids[0][:width], tsuid[:width])}
		}
		tsuids = append(tsuids, tsuid)
	}
	named, err := e.o.Catalog.NameLost(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	found := make([]storage.Found, 0, len(named))
	for _, s := range named {
		refs, err := e.o.Catalog.Refs([][]byte{s.TSUID})
		if err != nil {
			return nil, err
		}
		found = append(found, storage.Found{Ref: refs[0], Series: s.Series})
	}
	return found, nil
}

// parseTSUID reads hexadecimal digits.
func parseTSUID(text string) ([]byte, error) {
	var b []byte
	if _, err := fmt.Sscanf(strings.ToLower(text), "%x", &b); err != nil || len(text) == 0 || len(text)%2 != 0 || 2*len(b) != len(text) {
		return nil, fmt.Errorf("For input string: %q", text)
	}
	return b, nil
}
