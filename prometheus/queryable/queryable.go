// Package queryable shows a store through Prometheus' storage interfaces: series under their
// labels, with samples, chunks, columns and exemplars. It evaluates no query and answers no
// request.
package queryable

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Names is what the read side needs of package translate.
type Names interface {
	// Filters is a sound prefilter: a series that it drops cannot match, and a series that it
	// passes is checked again.
	Filters(matchers []*labels.Matcher) []storage.Filter
	ToLabels(s storage.Series) labels.Labels
	// FromMetric returns the value of __name__ for a stored metric, empty for none.
	FromMetric(metric string) string
	// Label returns the label name of a stored tag key, and false for keys that are not labels.
	Label(key string) (name string, ok bool)
	// Uniform reports whether LabelValue translates stored tag values in the same way for every
	// metric.
	Uniform() bool
	LabelValue(stored string) string
}

// Limits bound one query. Zero means no limit.
type Limits struct {
	// Series that one selector may name.
	Series int
	// Samples that all selectors of a query may hold in memory; a histogram counts by its size.
	Samples int64
}

// Store shows what a store holds to Prometheus' engine, HTTP API and remote read, under its labels.
// It never interprets a sample. It never returns an incomplete answer: an error ends it.
type Store struct {
	store  storage.Querier
	names  Names
	limits Limits
	kept   *selections // nil: nothing is kept
	// windows is where windows are read; nil: nowhere.
	windows Windows
	endings *endings    // nil: all samples count as long as the evaluator says
	paths   *pathFinder // nil: there are no paths
}

var (
	_ promstorage.SampleAndChunkQueryable = (*Store)(nil)
	_ promstorage.ExemplarQueryable       = (*Store)(nil)
)

// New returns a Store that reads q and shows its names through tr.
func New(q storage.Querier, tr Names, limits Limits) *Store {
	return &Store{store: q, names: tr, limits: limits}
}

// With returns the same Store with other limits.
func (p *Store) With(limits Limits) *Store {
	other := *p
	other.limits = limits
	return &other
}

// Querier returns a querier over [mint, maxt], in milliseconds.
func (p *Store) Querier(mint, maxt int64) (promstorage.Querier, error) {
	return p.querier(mint, maxt), nil
}

// ChunkQuerier returns a querier for encoded chunks over [mint, maxt], in milliseconds.
func (p *Store) ChunkQuerier(mint, maxt int64) (promstorage.ChunkQuerier, error) {
	return chunkQuerier{p.querier(mint, maxt)}, nil
}

// ExemplarQuerier returns a querier for exemplars.
func (p *Store) ExemplarQuerier(ctx context.Context) (promstorage.ExemplarQuerier, error) {
	return &exemplarQuerier{Store: p, context: func() context.Context { return ctx }}, nil
}

func (p *Store) querier(mint, maxt int64) *querier {
	return &querier{Store: p, span: timeSpan{mint, maxt}.clamp()}
}

// A timeSpan is a range of milliseconds, both ends inclusive.
type timeSpan struct{ start, end int64 }

// clamp restricts a span to times that the store can hold. Callers without a range ask for nearly
// all of int64.
func (s timeSpan) clamp() timeSpan {
	return s.intersect(timeSpan{0, storage.MaxTime})
}

func (s timeSpan) intersect(o timeSpan) timeSpan {
	return timeSpan{max(s.start, o.start), min(s.end, o.end)}
}

func (s timeSpan) empty() bool { return s.start > s.end }

// querier answers the selectors of one query.
type querier struct {
	*Store
	span    timeSpan
	samples atomic.Int64 // held so far, by all selectors
}

// Close has nothing to release: a set reads whole groups and keeps no scan open between them.
func (*querier) Close() error { return nil }

// Select does no work before the first Next of the set, so that the selectors of a query are read
// one after the other.
func (q *querier) Select(ctx context.Context, sortSeries bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	return newSeriesSet(ctx, q, readOptions{resetHints: true, holds: true}, selection{
		span: q.span, matchers: matchers, sorted: sortSeries,
	}.withHints(hints))
}

// A selection is a selector together with its hints.
type selection struct {
	span       timeSpan
	matchers   []*labels.Matcher
	sorted     bool
	labelsOnly bool
	limit      int // series; 0: all
}

// withHints applies the hints that cannot change an answer. Start and End are exact for a selector
// of the engine. Step is not used: lookback, subqueries and rate need samples between the steps
// (prometheus#12348).
func (s selection) withHints(h *promstorage.SelectHints) selection {
	if h == nil {
		return s
	}
	// Remote readers that send hints without times leave both at 0.
	if h.Start != 0 || h.End != 0 {
		s.span = s.span.intersect(timeSpan{h.Start, h.End})
	}
	s.labelsOnly = h.Func == "series"
	s.limit = h.Limit
	return s
}

// hold counts n samples that stay in memory until the query ends.
func (q *querier) hold(n int) error {
	held := q.samples.Add(int64(n))
	if q.limits.Samples > 0 && held > q.limits.Samples {
		return httpapi.Limit("samples", q.limits.Samples)
	}
	return nil
}

// left returns how many samples the query may still hold, in the form of storage.Query: 0 means no
// limit.
func (q *querier) left() int {
	if q.limits.Samples <= 0 {
		return 0
	}
	// One more than the rest of the limit, so that hold exceeds the limit and its error names the
	// whole limit.
	return int(max(q.limits.Samples-q.samples.Load(), 0)) + 1
}

// firstGroup is how many series are read first; later groups are sized by what the earlier ones
// held.
const firstGroup = 256

// groupSamples is about how many samples of 16 bytes one group should hold.
const groupSamples = 1 << 20

// nextGroup returns the size of the group that follows a group of size series with n samples.
func nextGroup(size, n int) int {
	grown := size * 16
	if n > 0 {
		grown = min(grown, int(math.Ceil(float64(size)*groupSamples/float64(n))))
	}
	return max(1, grown)
}
