package queryable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/limits"
	"github.com/tsdbridge/tsdbridge/storage"
)

// readOptions are what a reader needs of the samples.
type readOptions struct {
	// resetHints requests the counter-reset hints of histograms. The first one may need a read
	// before the range.
	resetHints bool
	// holds means that the reader keeps the samples, so that they count against the limit.
	holds bool
	// cost is what the reader spends on each series.
	cost limits.Reader
}

// seriesSet reads series in groups. It holds one group in memory, and reads the next one when that
// is used up.
type seriesSet struct {
	find func() ([]labelSet, error) // nil after the first Next
	read func(group []labelSet) (seriesGroup, error)
	end  func(seriesGroup) // of a group that is used up; nil: nothing to do

	rest   []labelSet // not read yet
	size   int        // of the next group
	group  []promstorage.Series
	whole  seriesGroup // the whole of group
	at     promstorage.Series
	failed error
	count  int             // of samples that were read
	unread []labels.Labels // of the series that histograms were left out of, the first ones
}

// mostUnread is how many series warnings name.
const mostUnread = 10

func newSeriesSet(ctx context.Context, q *querier, o readOptions, s selection) *seriesSet {
	set := &seriesSet{
		size: firstGroup,
		find: func() ([]labelSet, error) { return q.find(ctx, s) },
		read: func(group []labelSet) (seriesGroup, error) {
			if err := query.TurnOf(ctx).Yield(ctx); err != nil {
				return seriesGroup{}, httpapi.QueryError(ctx, "read series", err)
			}
			return q.readGroup(ctx, group, s.span, o)
		},
	}
	if !o.holds {
		account := query.AccountOf(ctx)
		set.end = func(g seriesGroup) { account.Give(g.bytes) }
	} else {
		o.cost = limits.From(ctx).Of(s.matchers)
		set.find = func() ([]labelSet, error) { return q.findHeld(ctx, s, o.cost) }
	}
	if s.labelsOnly {
		set.read = readLabels
	}
	return set
}

// findHeld finds series that the engine keeps, and takes the memory for what the engine makes of
// them.
func (q *querier) findHeld(ctx context.Context, s selection, cost limits.Reader) ([]labelSet, error) {
	sets, err := q.find(ctx, s)
	if err != nil {
		return nil, err
	}
	bytes, err := cost.Series(len(sets))
	if err == nil {
		query.TurnOf(ctx).Expect(cost.Work(len(sets), s.span.end-s.span.start)) // Each group yields.
		err = query.AccountOf(ctx).Take(bytes)
	}
	if err != nil {
		return nil, httpapi.QueryError(ctx, "evaluate series", err)
	}
	return sets, nil
}

// readLabels makes series without samples.
func readLabels(group []labelSet) (seriesGroup, error) {
	series := make([]promstorage.Series, len(group))
	for i, g := range group {
		series[i] = &shownSeries{labels: g.labels, data: &seriesSamples{}}
	}
	return seriesGroup{series: series}, nil
}

// A seriesGroup is some series in memory.
type seriesGroup struct {
	series  []promstorage.Series
	samples int
	bytes   int64           // taken from the account of the request
	unread  []labels.Labels // see seriesSet
}

// Next moves to the next series.
func (s *seriesSet) Next() bool {
	s.at = nil
	for len(s.group) == 0 {
		if s.failed != nil || !s.fill() {
			return false
		}
	}
	s.at, s.group = s.group[0], s.group[1:]
	return true
}

// fill reads the next group, which may turn out to be empty. It reports whether there was one.
func (s *seriesSet) fill() bool {
	if s.find != nil {
		s.rest, s.failed = s.find()
		s.find = nil
	}
	if s.failed != nil || len(s.rest) == 0 {
		return false
	}
	group := s.rest[:min(s.size, len(s.rest))]
	s.rest = s.rest[len(group):]
	if s.end != nil {
		s.end(s.whole)
	}
	if s.whole, s.failed = s.read(group); s.failed != nil {
		return false
	}
	s.group = s.whole.series
	s.count += s.whole.samples
	s.unread = append(s.unread, s.whole.unread[:min(len(s.whole.unread), mostUnread-len(s.unread))]...)
	s.size = nextGroup(len(group), s.whole.samples)
	return true
}

// At returns the series; it stays readable after Next.
func (s *seriesSet) At() promstorage.Series { return s.at }

// Samples returns how many samples were read so far.
func (s *seriesSet) Samples() int { return s.count }

// Err returns what ended the set early.
func (s *seriesSet) Err() error { return s.failed }

// Warnings names the series that histograms of OpenTSDB were left out of, because no native histogram has their meaning.
// Otherwise an answer is complete or an error.
func (s *seriesSet) Warnings() (all annotations.Annotations) {
	for _, ls := range s.unread {
		all.Add(fmt.Errorf("%w: histograms of OpenTSDB in series %s cannot be shown as native histograms and are left out", annotations.PromQLWarning, ls))
	}
	return all
}

// readGroup reads the samples of some series. Series without any are left out.
func (q *querier) readGroup(ctx context.Context, group []labelSet, span timeSpan, o readOptions) (seriesGroup, error) {
	r := groupReader{querier: q, span: span, options: o, account: query.AccountOf(ctx), end: newQueryEnd(ctx)}
	r.collect(group)
	if err := r.read(ctx); err != nil {
		r.account.Give(r.taken)
		return seriesGroup{}, httpapi.QueryError(ctx, "read samples", err)
	}
	query.From(ctx).Read(r.count)
	if o.resetHints {
		if err := r.setHints(ctx, r.span.start, r.refs, r.data); err != nil {
			r.account.Give(r.taken)
			return seriesGroup{}, httpapi.QueryError(ctx, "read samples before the range", err)
		}
	}
	return seriesGroup{r.series(group), r.count, r.taken, r.unread(group)}, nil
}

// A groupReader reads the samples of refs. data[i] are those of refs[i].
type groupReader struct {
	*querier
	span    timeSpan
	options readOptions
	refs    []storage.Ref
	data    []*seriesSamples // nil: none in the range
	count   int
	account *query.Account
	taken   int64 // bytes, from the account
	end     *queryEnd
}

func (r *groupReader) collect(group []labelSet) {
	r.refs = make([]storage.Ref, 0, len(group))
	for _, g := range group {
		r.refs = append(append(r.refs, g.ref), g.more...)
	}
	r.data = make([]*seriesSamples, len(r.refs))
}

var errOrder = errors.New("the store answered a series that was not asked for, or out of order")

func (r *groupReader) read(ctx context.Context) error {
	next := 0
	query := storage.Query{Refs: r.refs, Start: r.span.start, End: r.span.end, Samples: true}
	if r.options.holds {
		query.MaxSamples = r.left()
	}
	for p, err := range r.store.Select(ctx, query) {
		if err != nil {
			return err
		}
		for next < len(r.refs) && r.refs[next] != p.Ref {
			next++
		}
		if next == len(r.refs) {
			return errOrder
		}
		if err := r.add(next, p); err != nil {
			return err
		}
	}
	// A store that ended its loop silently when the context ended would give a shorter answer.
	return ctx.Err()
}

// add keeps the points of refs[i].
func (r *groupReader) add(i int, p storage.Points) error {
	if err := r.take(p); err != nil {
		return err
	}
	data, size, err := newSeriesSamples(p)
	if err != nil {
		return err
	}
	data.end = r.end
	r.data[i] = data
	r.count += size
	if r.options.holds {
		return r.hold(size)
	}
	return nil
}

// endLookback adds the stale markers of a series' lookback.
func (r *groupReader) endLookback(ref storage.Ref, data *seriesSamples) {
	if r.endings == nil {
		return
	}
	more := make([]int64, len(data.hists))
	for i := range data.hists {
		more[i] = data.hists[i].time
	}
	data.times, data.values = r.endings.end(ref, data.times, data.values, more, r.span.end)
}

// take takes the memory for the copy of a series' points.
func (r *groupReader) take(p storage.Points) error {
	if err := r.options.cost.Samples(len(p.Times) + len(p.Objects)); err != nil {
		return err
	}
	n := int64(len(p.Times)) * sampleBytes
	if r.endings != nil {
		n *= 2
	}
	for _, o := range p.Objects {
		n += int64(histogramGrowth * len(o.Data))
	}
	if err := r.account.Take(n + seriesBytes); err != nil {
		return err
	}
	r.taken += n + seriesBytes
	return nil
}

// series joins labels and samples. Stored series with the same labels become one.
func (r *groupReader) series(group []labelSet) []promstorage.Series {
	out := make([]promstorage.Series, 0, len(group))
	i := 0
	for _, g := range group {
		data := r.data[i : i+1+len(g.more)]
		i += len(data)
		if len(data) == 1 && data[0] != nil { // joined series count as long as the evaluator says
			r.endLookback(g.ref, data[0])
		}
		if s := mergedSeries(g.labels, data); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// unread returns the labels of the first series that histograms were left out of.
func (r *groupReader) unread(group []labelSet) (out []labels.Labels) {
	i := 0
	for _, g := range group {
		data := r.data[i : i+1+len(g.more)]
		i += len(data)
		if len(out) < mostUnread && slices.ContainsFunc(data, func(d *seriesSamples) bool { return d != nil && d.unread }) {
			out = append(out, g.labels)
		}
	}
	return out
}

func mergedSeries(ls labels.Labels, data []*seriesSamples) promstorage.Series {
	var parts []promstorage.Series
	for _, d := range data {
		if d != nil {
			parts = append(parts, &shownSeries{labels: ls, data: d})
		}
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return promstorage.ChainedSeriesMerge(parts...)
}
