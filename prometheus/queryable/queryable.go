// Package queryable shows a store as Prometheus' storage interfaces: series under their labels, with samples, chunks, columns and exemplars. It
// evaluates no query and answers no request.
package queryable

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Names is what the read side needs of package translate.
type Names interface {
	// Filters is a sound prefilter: what it drops cannot match, what it passes is checked again.
	Filters(matchers []*labels.Matcher) []storage.Filter
	ToLabels(s storage.Series) labels.Labels
	// FromMetric gives the value of __name__ for a stored metric, empty for none.
	FromMetric(metric string) string
	// Label gives the label name for a stored tag key; false for keys that are no label.
	Label(key string) (name string, ok bool)
	// Uniform says that LabelValue translates a stored tag value whatever the metric is.
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

// Store gives Prometheus' engine, HTTP API and remote read what a store holds, under its labels. It never
// interprets a sample and never answers with less than was asked: an error ends an answer.
type Store struct {
	store  storage.Querier
	names  Names
	limits Limits
}

var (
	_ promstorage.SampleAndChunkQueryable = (*Store)(nil)
	_ promstorage.ExemplarQueryable       = (*Store)(nil)
)

func New(q storage.Querier, tr Names, limits Limits) *Store {
	return &Store{store: q, names: tr, limits: limits}
}

// Querier returns a querier over [mint, maxt], in milliseconds.
func (p *Store) Querier(mint, maxt int64) (promstorage.Querier, error) {
	return p.querier(mint, maxt), nil
}

// ChunkQuerier is Querier for those who want encoded chunks.
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

// A timeSpan is a range of milliseconds with both ends in it.
type timeSpan struct{ start, end int64 }

// clamp cuts a span down to times that the store can hold; callers without a range ask for nearly all of int64.
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

// Select finds nothing before the first Next of the set, so that the selectors of a query are read one after the other.
func (q *querier) Select(ctx context.Context, sortSeries bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	return newSeriesSet(ctx, q, readOptions{resetHints: true, holds: true}, selection{
		span: q.span, matchers: matchers, sorted: sortSeries,
	}.withHints(hints))
}

// A selection is a selector with what its hints say.
type selection struct {
	span       timeSpan
	matchers   []*labels.Matcher
	sorted     bool
	labelsOnly bool
	limit      int // series; 0: all
}

// withHints applies those hints that change no answer. Start and End are exact for a selector of the engine. Step is not
// used: lookback, subqueries and rate need samples between the steps (prometheus#12348).
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
		return reply.Limit("samples", q.limits.Samples)
	}
	return nil
}

// room is how many samples the query may still hold, as storage.Query has it: 0 without a limit.
func (q *querier) room() int {
	if q.limits.Samples <= 0 {
		return 0
	}
	// One more than fits, so that the limit is met here, where the error tells the whole of it.
	return int(max(q.limits.Samples-q.samples.Load(), 0)) + 1
}

// firstGroup is how many series are read first; later groups are sized by what the earlier ones held.
const firstGroup = 256

// groupSamples is about how many samples one group should hold (16 bytes each).
const groupSamples = 1 << 20

// nextGroup sizes the group that follows one of size series holding n samples.
func nextGroup(size, n int) int {
	grown := size * 16
	if n > 0 {
		grown = min(grown, int(math.Ceil(float64(size)*groupSamples/float64(n))))
	}
	return max(1, grown)
}
