package queryable

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/storage"
)

var _ columns.Source = (*Store)(nil)

// Columns implements columns.Source.
func (p *Store) Columns(ctx context.Context, s columns.Selector) (columns.Set, error) {
	q := p.querier(s.Start, s.End)
	sets, err := q.find(ctx, selection{span: q.span, matchers: s.Matchers})
	if err != nil {
		return nil, handOverLimit(err)
	}
	for i := range sets {
		if len(sets[i].more) > 0 {
			return nil, columns.ErrHandOver // Series that show the same labels have to be merged.
		}
	}
	return &foundColumns{
		querier: q, sets: sets, noStartTimes: s.NoStartTimes, newest: s.Newest, summaries: s.Summaries, every: s.Every, asked: timeSpan{s.Start, s.End}, lookback: s.Lookback,
	}, nil
}

// HintedColumns is Columns with the hints of a remote reader. It returns columns.ErrHandOver if
// they ask for labels alone or limit the number of series.
func (p *Store) HintedColumns(ctx context.Context, mint, maxt int64, hints *promstorage.SelectHints, matchers []*labels.Matcher) (columns.Set, error) {
	s := selection{span: timeSpan{mint, maxt}}.withHints(hints)
	if s.labelsOnly || s.limit > 0 {
		return nil, columns.ErrHandOver
	}
	return p.Columns(ctx, columns.Selector{Matchers: matchers, Start: s.span.start, End: s.span.end})
}

// handOverLimit replaces a limit error by columns.ErrHandOver, so that Prometheus' engine meets the
// limit itself and reports it in its own words.
func handOverLimit(err error) error {
	if errors.Is(err, storage.ErrLimit) {
		return columns.ErrHandOver
	}
	return err
}

// foundColumns are the series of one selector.
type foundColumns struct {
	*querier
	sets         []labelSet
	noStartTimes bool
	newest       bool
	summaries    bool // will do, of intervals of length every
	every        int64
	asked        timeSpan // by the selector
	lookback     int64    // see columns.Selector
}

func (c *foundColumns) Len() int { return len(c.sets) }

func (c *foundColumns) Labels(i int) labels.Labels { return c.sets[i].labels }

// Read implements columns.Set.
func (c *foundColumns) Read(ctx context.Context, most int, worker func() columns.Worker) error {
	if q, atOnce := c.windowed(); atOnce > 0 {
		return c.readWindows(ctx, q, atOnce, most, worker)
	}
	return c.readPoints(ctx, 0, len(c.sets), most, worker)
}

// maxRuns bounds the runs of neighbouring series that are read from times of their own.
const maxRuns = 64

// readPoints reads points of the series from one to another, of each as far back as its own lookback reaches.
func (c *foundColumns) readPoints(ctx context.Context, from, to, most int, worker func() columns.Worker) error {
	runs := 0
	for i := from; i < to; i++ {
		if i == from || c.begin(i) != c.begin(i-1) {
			runs++
		}
	}
	if runs == 0 || runs > maxRuns {
		return c.readRun(ctx, c.span.start, from, to, most, worker)
	}
	for from < to {
		end := from + 1
		for end < to && c.begin(end) == c.begin(from) {
			end++
		}
		if err := c.readRun(ctx, c.begin(from), from, end, most, worker); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// begin returns when the first sample of a series may be that counts.
func (c *foundColumns) begin(i int) int64 {
	if c.endings == nil || c.lookback == 0 {
		return c.span.start
	}
	own := c.endings.of(c.sets[i].ref).Milliseconds()
	return max(c.span.start, c.asked.start+max(0, c.lookback-own))
}

// readRun reads points of the series from one to another, from a time on.
func (c *foundColumns) readRun(ctx context.Context, start int64, from, to, most int, worker func() columns.Worker) error {
	query := storage.Query{Start: start, End: c.span.end, Samples: true, MaxSamples: c.left(), PartSeries: most, Newest: c.newest}
	consumers, err := c.selectParts(ctx, query, c.sets[from:to], func() consumerWorker {
		return &columnWorker{Worker: worker(), columns: c, first: from, start: start}
	})
	if consumers {
		return err
	}
	return handOverLimit(err)
}

// columnWorker hands the columns of parts to a worker.
type columnWorker struct {
	columns.Worker
	columns *foundColumns
	first   int   // of the series that are read
	start   int64 // from which on they are read
	failed  error // of the worker, or of the columns
}

func (w *columnWorker) consumerError() error { return w.failed }

// Take implements storage.PartWorker.
func (w *columnWorker) Take(ctx context.Context, p storage.Part) error {
	samples := 0
	for i := range p.Points {
		if p.Points[i].Ref != w.columns.sets[w.first+p.From+i].ref {
			return errOrder
		}
		samples += len(p.Points[i].Times)
		if w.columns.hold(len(p.Points[i].Times)) != nil {
			w.failed = columns.ErrHandOver
			return w.failed
		}
	}
	query.From(ctx).Read(samples)
	histograms, err := w.columns.histograms(ctx, w.start, p.Points)
	if err != nil {
		w.failed = err
		return err
	}
	w.failed = w.Worker.Take(ctx, func(yield func(int, columns.Column) bool) {
		for i, s := range p.Points {
			c := columns.Column{Times: s.Times, Values: s.Values, Distance: s.Distance}
			if h := histograms[i]; len(h) > 0 {
				c = withHistograms(c, h)
			}
			c = w.columns.ended(s.Ref, c)
			if len(c.Times)+len(c.Histograms) > 0 && !yield(w.first+p.From+i, c) {
				return
			}
		}
	})
	return w.failed
}

// Commit implements storage.PartWorker.
func (w *columnWorker) Commit(ctx context.Context) error {
	w.failed = w.Worker.Commit(ctx)
	return w.failed
}

// histograms decodes the histograms of a part, by series. It returns columns.ErrHandOver for series
// with start times if the engine uses these, and if there are more samples than it may hold.
func (c *foundColumns) histograms(ctx context.Context, start int64, part []storage.Points) (map[int][]promql.HPoint, error) {
	var refs []storage.Ref
	var data []*seriesSamples
	var rows []int
	for i, p := range part {
		if len(p.Objects) == 0 {
			continue
		}
		samples, err := c.objects(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case len(samples.starts) > 0 && c.noStartTimes, samples.unread: // the library gets a warning
			return nil, columns.ErrHandOver
		case len(samples.hists) > 0:
			refs, data, rows = append(refs, p.Ref), append(data, samples), append(rows, i)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	if err := c.setHints(ctx, start, refs, data); err != nil {
		return nil, httpapi.QueryError(ctx, "read samples before the range", err)
	}
	all := make(map[int][]promql.HPoint, len(refs))
	for k, samples := range data {
		points := make([]promql.HPoint, len(samples.hists))
		for n := range samples.hists {
			points[n] = promql.HPoint{T: samples.hists[n].time, H: samples.hists[n].float(nil)}
		}
		all[rows[k]] = points
	}
	return all, nil
}

// objects decodes the objects of a series, and takes the memory for its histograms.
func (c *foundColumns) objects(ctx context.Context, p storage.Points) (*seriesSamples, error) {
	size := 0
	for _, o := range p.Objects {
		if o.Kind == storage.KindHistogram {
			size += len(o.Data)
			if c.hold(samplesInBytes(len(o.Data))) != nil {
				return nil, columns.ErrHandOver
			}
		}
	}
	if err := query.AccountOf(ctx).Take(int64(size) * histogramGrowth); err != nil {
		return nil, err
	}
	samples, _, err := newSeriesSamples(p)
	return samples, err
}

// withHistograms returns a column without the values at the times of histograms: an instant has one
// sample.
func withHistograms(c columns.Column, histograms []promql.HPoint) columns.Column {
	c.Histograms = histograms
	at := make(map[int64]bool, len(histograms))
	for _, h := range histograms {
		at[h.T] = true
	}
	if !slices.ContainsFunc(c.Times, func(t int64) bool { return at[t] }) {
		return c
	}
	only := columns.Column{Histograms: histograms}
	for i, t := range c.Times {
		if !at[t] {
			only.Times, only.Values = append(only.Times, t), append(only.Values, c.Values[i])
		}
	}
	return only
}

// ended returns a column with the stale markers of its lookback.
func (c *foundColumns) ended(ref storage.Ref, column columns.Column) columns.Column {
	if c.endings == nil {
		return column
	}
	more := make([]int64, len(column.Histograms))
	for i, h := range column.Histograms {
		more[i] = h.T
	}
	times, values := c.endings.end(ref, column.Times, column.Values, more, c.span.end)
	if len(times) != len(column.Times) {
		column.Times, column.Values, column.Distance = times, values, 0
	}
	return column
}
