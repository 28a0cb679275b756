package tsdtext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// ExportOptions are what an Exporter needs.
type ExportOptions struct {
	Store   storage.Querier
	Catalog ExportCatalog
	// Annotations are those of Store.
	Annotations tsdquery.Notes
	// Rollups are the rolled up values of Store; nil: none are configured. RollupTag is --opentsdb.rollup-tag.
	Rollups   ExportRollups
	RollupTag string
	Names     tsdquery.Dictionary
	// Shared means that other processes write to the tables.
	Shared bool
	// SpecialChars is --opentsdb.allow-special-chars.
	SpecialChars string
	Budget       *query.Budget
}

// An ExportCatalog knows series, and where a metric has points; that of a store is one.
type ExportCatalog interface {
	TSUIDOf(ref storage.Ref) []byte
	NextHour(ctx context.Context, metric string, from int64) (hour int64, ok bool, err error)
	NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// An ExportQuery is what is exported: the points from Start to End (milliseconds, inclusive) of the series that
// pass one of Match, in the grammar of tsdquery.ParseMatch; of all series if there is none.
type ExportQuery struct {
	Match []string `json:"match,omitempty"`
	Start int64    `json:"start"`
	End   int64    `json:"end"`
	// With are what is written in addition to points, in lines that only an Importer takes: WithHistograms,
	// WithAnnotations, WithRollups. Global annotations are written if Match is empty.
	With []string `json:"with,omitempty"`
}

// What an ExportQuery may have in addition to points.
const (
	WithHistograms  = "histograms"
	WithAnnotations = "annotations"
	WithRollups     = "rollups"
)

// maxMatches bounds an ExportQuery.
const maxMatches = 1000

// An Exporter writes the points of a store in OpenTSDB's import text. It implements pipeline.Source, and
// is safe for concurrent use. Its memory is bounded, however much it exports.
type Exporter struct {
	o       ExportOptions
	q       ExportQuery
	matches []tsdquery.Match

	histograms, annotations, global bool          // that are written
	rolled                          []rollup.Part // that are written

	// A window of a range is read at once. It has about so many points, and at least an hour; one of more
	// than mostPoints is cut.
	windowPoints int64
	mostPoints   int
}

// NewExporter returns the Exporter of a query. Errors name the part of the query that is wrong.
func NewExporter(o ExportOptions, q ExportQuery) (*Exporter, error) {
	q.Start, q.End = max(q.Start, 0), min(q.End, storage.MaxTime)
	x := &Exporter{o: o, q: q, windowPoints: 1 << 20, mostPoints: 4 << 20}
	if len(q.Match) > maxMatches {
		return nil, fmt.Errorf("%w: more than %d series are matched", storage.ErrInvalid, maxMatches)
	}
	if q.Start > q.End {
		return nil, fmt.Errorf("%w: the end is before the start", storage.ErrInvalid)
	}
	for _, text := range q.Match {
		m, err := tsdquery.ParseMatch(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", storage.ErrInvalid, text, err)
		}
		x.matches = append(x.matches, m)
	}
	for _, what := range q.With {
		switch what {
		case WithHistograms:
			x.histograms = true
		case WithAnnotations:
			x.annotations, x.global = true, len(q.Match) == 0 && q.End > 0
		case WithRollups:
			if o.Rollups == nil {
				return nil, fmt.Errorf("%w: %s: --storage.rollups is not set: it tells which rollup tables there are", storage.ErrInvalid, what)
			}
			x.rolled = o.Rollups.Config().Parts()
		default:
			return nil, fmt.Errorf("%w: %s: want %s, %s or %s", storage.ErrInvalid, what, WithHistograms, WithAnnotations, WithRollups)
		}
	}
	if len(x.matches) == 0 {
		x.matches = []tsdquery.Match{{Metric: tsdquery.AnyMetric}}
	}
	return x, nil
}

const (
	hourMillis = int64(time.Hour / time.Millisecond)
	// rangeHours is the most that a range has.
	rangeHours = 64 * 24
	// rangesAtOnce bounds an answer of Ranges.
	rangesAtOnce = 256
)

// Ranges implements pipeline.Source: the global annotations, as a range without a name, then the metrics by
// their names, and of each one the time, cut at multiples of the greatest length; rolled up values follow.
func (x *Exporter) Ranges(ctx context.Context, after pipeline.Range) (ranges []pipeline.Range, err error) {
	if after.Part != "" {
		return x.rolledRanges(ctx, after)
	}
	metrics, err := x.metrics(ctx, x.q.Start, x.q.End)
	if err != nil {
		return nil, err
	}
	if x.global && after == (pipeline.Range{}) {
		ranges = append(ranges, pipeline.Range{From: x.q.Start, To: x.q.End})
	}
	ranges, err = x.gather(metrics, after, ranges, func(metric string, from int64) (pipeline.Range, bool, error) {
		return x.next(ctx, metric, from)
	})
	if err != nil || len(ranges) > 0 {
		return ranges, err
	}
	return x.rolledRanges(ctx, pipeline.Range{})
}

// gather appends the ranges of metrics after one. next returns the one of a metric that begins at a time or later.
func (x *Exporter) gather(metrics []string, after pipeline.Range, ranges []pipeline.Range, next func(metric string, from int64) (pipeline.Range, bool, error)) ([]pipeline.Range, error) {
	at, found := slices.BinarySearch(metrics, after.Name)
	from := x.q.Start
	if found && after.Name != "" {
		from = after.To + 1
	}
	for ; at < len(metrics); at, from = at+1, x.q.Start {
		for from <= x.q.End {
			if len(ranges) == rangesAtOnce {
				return ranges, nil
			}
			r, ok, err := next(metrics[at], from)
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			r.Nth, r.Of = at, len(metrics)
			ranges = append(ranges, r)
			from = r.To + 1
		}
	}
	return ranges, nil
}

// next returns the next range of a metric. It begins where the one before ends: the memory of this process
// may have points where the tables have none.
func (x *Exporter) next(ctx context.Context, metric string, from int64) (r pipeline.Range, ok bool, err error) {
	hour, ok, err := x.o.Catalog.NextHour(ctx, metric, from)
	r = pipeline.Range{Name: metric, From: from, To: x.q.End}
	switch {
	case err != nil || !ok:
		return r, x.o.Shared && err == nil, err
	case hour > x.q.End:
		return r, x.o.Shared, nil
	}
	const length = rangeHours * hourMillis
	r.To = min(r.To, hour/length*length+length-1)
	return r, true, nil
}

// metrics returns the names of those that are exported, in their order: those that have points between two times, and perhaps others.
func (x *Exporter) metrics(ctx context.Context, start, end int64) (names []string, err error) {
	for _, m := range x.matches {
		if m.Metric == tsdquery.AnyMetric {
			account := x.o.Budget.Open()
			defer account.Close()
			return x.o.Store.Metrics(query.WithAccount(ctx, account), start, end)
		}
		names = append(names, m.Metric)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Read implements pipeline.Source.
func (x *Exporter) Read(ctx context.Context, r pipeline.Range, give func(pipeline.Block) error) error {
	r.From, r.To = max(r.From, x.q.Start), min(r.To, x.q.End)
	switch {
	case r.Part != "":
		return x.readRolled(ctx, r, give)
	case r.Name == "":
		return x.readGlobal(ctx, r, give)
	}
	for length := hourMillis; r.From <= r.To; {
		hour, ok, err := x.o.Catalog.NextHour(ctx, r.Name, r.From)
		if err != nil {
			return err
		}
		end := r.To
		if ok {
			end = min(end, max(r.From, hour)/hourMillis*hourMillis+length-1)
		}
		w := &exportWindow{Exporter: x, metric: r.Name, from: r.From, to: end, give: give}
		if err := w.export(ctx); err != nil {
			return err
		}
		if err := give(pipeline.Block{Until: end + 1}); err != nil {
			return err
		}
		switch {
		case w.points > x.windowPoints:
			length = max(length/2/hourMillis*hourMillis, hourMillis)
		case w.points < x.windowPoints/4:
			length = min(length*4, rangeHours*hourMillis)
		}
		r.From = end + 1
	}
	return nil
}

// An exportWindow is some of the time of a range.
type exportWindow struct {
	*Exporter
	metric   string
	from, to int64
	give     func(pipeline.Block) error
	points   int64 // that were given
}

// export gives the points of the window, by series in the order of their TSUIDs.
func (w *exportWindow) export(ctx context.Context) error {
	account := w.o.Budget.Open()
	defer account.Close()
	ctx = query.WithAccount(ctx, account)
	var found []storage.Found
	for _, m := range w.matches {
		conditions, ok := m.Of(w.metric)
		if !ok {
			continue
		}
		more, err := w.o.Store.Find(ctx, conditions, w.from, w.to, 0)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}
	series := make([]exportSeries, len(found))
	for i, f := range found {
		series[i] = exportSeries{ref: f.Ref, tsuid: w.o.Catalog.TSUIDOf(f.Ref), name: f.Series}
	}
	slices.SortFunc(series, func(a, b exportSeries) int { return bytes.Compare(a.tsuid, b.tsuid) })
	series = slices.CompactFunc(series, func(a, b exportSeries) bool { return a.ref == b.ref })
	return w.read(ctx, series, w.from, w.to)
}

// An exportSeries is a series of a window.
type exportSeries struct {
	ref   storage.Ref
	tsuid []byte
	name  storage.Series
}

// read gives the points of series from one time to another. Where there are too many it goes on with
// the series of which none is given yet, in shorter times if that is all of them.
func (w *exportWindow) read(ctx context.Context, series []exportSeries, from, to int64) error {
	for len(series) > 0 {
		pass := &exportPass{exportWindow: w, series: series, from: from, to: to}
		q := storage.Query{Start: from, End: to, Samples: true, Integers: true, Histograms: true, Annotations: w.annotations}
		hour := to/hourMillis == from/hourMillis
		if !hour {
			q.MaxSamples = w.mostPoints
		}
		for _, s := range series {
			q.Refs = append(q.Refs, s.ref)
		}
		err := w.o.Store.SelectParts(ctx, q, func() storage.PartWorker {
			return &exportWorker{exportPass: pass, line: exportLine{rules: putline.NameRules{MaxTags: storage.MaxTags, SpecialChars: w.o.SpecialChars}}}
		})
		if err == nil || hour || !errors.Is(err, storage.ErrLimit) && !errors.Is(err, query.ErrTooLarge) {
			return err
		}
		if series = series[pass.done:]; pass.done > 0 {
			continue
		}
		middle := (from + (to-from)/2) / hourMillis * hourMillis
		if middle <= from {
			middle = (from/hourMillis + 1) * hourMillis
		}
		if err := w.read(ctx, series, from, middle-1); err != nil {
			return err
		}
		from = middle
	}
	return nil
}

// An exportPass reads series.
type exportPass struct {
	*exportWindow
	series   []exportSeries
	from, to int64
	done     int // of series, that were given
}

// An exportWorker is one core's.
type exportWorker struct {
	*exportPass
	part  storage.Part
	block pipeline.Block
	line  exportLine
	later bool // Commit writes the text
}

// The text of a part that has about so many bytes is written in parallel with that of other parts, and kept
// until its turn comes. That of a larger part is cut into blocks.
const takenText, givenText = 16 << 20, 4 << 20

// Take implements storage.PartWorker.
func (w *exportWorker) Take(ctx context.Context, p storage.Part) error {
	w.part, w.block = p, pipeline.Block{Text: w.block.Text[:0]}
	size := 0
	for i := range p.Points {
		size += len(p.Points[i].Times)*lineLength(&w.series[p.From+i].name) + w.objectsLength(&p.Points[i])
	}
	if w.later = size > takenText; w.later {
		return ctx.Err()
	}
	for i := range p.Points {
		if err := w.add(ctx, i, 0, len(p.Points[i].Times)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Commit implements storage.PartWorker.
func (w *exportWorker) Commit(ctx context.Context) error {
	if w.later {
		for i := range w.part.Points {
			if err := w.addLater(ctx, i); err != nil {
				return err
			}
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	w.done = w.part.From + len(w.part.Points)
	return nil
}

// addLater writes the points of a series in blocks.
func (w *exportWorker) addLater(ctx context.Context, i int) error {
	n := len(w.part.Points[i].Times)
	step := max(1, givenText/lineLength(&w.series[w.part.From+i].name))
	for at := 0; at == 0 || at < n; at += step {
		if err := w.add(ctx, i, at, min(at+step, n)); err != nil {
			return err
		}
		if len(w.block.Text) < givenText {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lineLength is about how long a line of a series is.
func lineLength(s *storage.Series) int {
	n := len(s.Metric) + 32
	for _, t := range s.Tags {
		n += len(t.Key) + len(t.Value) + 2
	}
	return n
}

func (w *exportWorker) flush(ctx context.Context) error {
	w.points += w.block.Points
	if w.block.Points > 0 || w.block.LeftOut > 0 {
		if err := w.give(w.block); err != nil {
			return err
		}
	}
	w.block = pipeline.Block{Text: w.block.Text[:0]}
	return ctx.Err()
}

// add writes the points [from, to) of a series of the part, with the first ones what is no number.
func (w *exportWorker) add(ctx context.Context, i, from, to int) error {
	p, s := &w.part.Points[i], &w.series[w.part.From+i]
	err := w.line.of(s.name)
	if from == 0 {
		if err := w.addObjects(ctx, p, s.name, err); err != nil {
			return err
		}
	}
	if from == to {
		return nil
	}
	if err != nil {
		w.leaveOut(to-from, s.name, err.Error())
		return nil
	}
	w.block.Text = w.line.appendPoints(w.block.Text, p, from, to)
	w.block.Points += int64(to - from)
	return nil
}

func (w *exportWorker) leaveOut(points int, s storage.Series, reason string) {
	if points > 0 && w.block.LeftOut == 0 {
		w.block.Reason = exportName(s) + ": " + reason
	}
	w.block.LeftOut += int64(points)
}

// exportName names a series for people.
func exportName(s storage.Series) string {
	name := s.String()
	return strings.ToValidUTF8(name[:min(len(name), 200)], "")
}

// An exportLine writes lines of a series: "metric timestamp value tag=value ...".
type exportLine struct {
	rules         putline.NameRules
	before, after []byte
	value         []byte // memory for the text of one
}

// of sets the series, and returns why it has no lines.
func (l *exportLine) of(s storage.Series) error {
	if err := putline.CheckNames(s.Metric, s.Tags, l.rules); err != nil {
		return err
	}
	l.before = append(append(l.before[:0], s.Metric...), ' ')
	l.after = l.after[:0]
	for _, t := range s.Tags {
		l.after = append(append(append(append(l.after, ' '), t.Key...), '='), t.Value...)
	}
	l.after = append(l.after, '\n')
	if n := len(l.before) + len(l.after); n > longestImport-maxPointText {
		return fmt.Errorf("a line of it has more than %d bytes", longestImport)
	}
	return nil
}

// maxPointText is at least the length of a timestamp and a value, and of what tells how a value was rolled up.
const maxPointText = 256

// appendPoints appends the lines of the points [from, to).
func (l *exportLine) appendPoints(b []byte, p *storage.Points, from, to int) []byte {
	integers := p.Integers
	at, _ := slices.BinarySearchFunc(integers, p.Times[from], func(i storage.Integer, t int64) int { return int(min(max(i.Time-t, -1), 1)) })
	integers = integers[at:]
	for i := from; i < to; i++ {
		t := p.Times[i]
		b = append(appendStamp(append(b, l.before...), t), ' ')
		if len(integers) > 0 && integers[0].Time == t {
			b = appendInteger(b, integers[0].Value)
			integers = integers[1:]
		} else {
			b = appendFloat(b, math.Float64bits(p.Values[i]))
		}
		b = append(b, l.after...)
	}
	return b
}
