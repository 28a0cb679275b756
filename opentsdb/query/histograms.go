package query

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ofHistograms reports whether a sub query reads histograms in place of points.
func (q *SubQuery) ofHistograms() bool { return len(q.Percentiles) > 0 || q.ShowBuckets }

// checkHistograms is TSSubQuery.checkHistogramQuery of OpenTSDB 2.4.
func (q *SubQuery) checkHistograms() error {
	switch {
	case !q.ofHistograms():
		return nil
	case q.Aggregator != aggregate.None && q.Aggregator != sumFunction:
		return RequestError{"Only NONE or SUM aggregation function supported for histogram query"}
	case q.downsampling != nil && !q.downsampling.Sums():
		return RequestError{"Only SUM downsampling aggregation supported for histogram query"}
	}
	if len(q.Percentiles) > maxPercentiles {
		return RequestError{fmt.Sprintf("A query may have at most %d percentiles", maxPercentiles)}
	}
	for _, p := range q.Percentiles {
		if p < 0 || p > 100 {
			return RequestError{"Invalid percentile parameters: " + javaFloat(p)}
		}
	}
	return nil
}

const (
	sumFunction = "sum"
	// maxPercentiles bounds those of a sub query: each is a series for each group.
	maxPercentiles = 1000
)

// A histogramReading reads the histograms of a sub query into their groups.
type histogramReading struct {
	*reading
	codec  byte
	groups []histogramGroup
}

// A histogramGroup is a group with the members that have histograms, and the annotations of all members.
type histogramGroup struct {
	members     []int32                // places in the grouping
	histograms  []aggregate.Histograms // of each
	annotations []storage.Annotation
}

// answerHistograms answers a sub query with a series for each percentile of a group, and one for each bucket.
func (e *Engine) answerHistograms(ctx context.Context, r *reading, whole bool) ([]Group, error) {
	if e.o.HistogramCodec == nil {
		return nil, nil
	}
	h := &histogramReading{reading: r, codec: *e.o.HistogramCodec, groups: make([]histogramGroup, r.of.groups)}
	err := r.traced(ctx, func(ctx context.Context) error {
		return e.readInto(ctx, r, storage.Query{Histograms: true}, func() storage.PartWorker { return &histogramWorker{histogramReading: h} })
	})
	if err != nil {
		return nil, err
	}
	return h.results(ctx, whole)
}

// A histogramWorker is one core's.
type histogramWorker struct {
	*histogramReading
	from  int
	spans []aggregate.Histograms
	empty []bool // which have none until the end of the range
	notes [][]storage.Annotation
}

// What the budget counts for a histogram and for each of its buckets.
const (
	histogramBytes = 64
	bucketBytes    = 16
	seriesBytes    = 512 // of an answer
)

// Take implements storage.PartWorker.
func (w *histogramWorker) Take(ctx context.Context, p storage.Part) error {
	w.from, w.spans, w.empty, w.notes = p.From, w.spans[:0], w.empty[:0], w.notes[:0]
	read := 0
	for i := range p.Points {
		s := &p.Points[i]
		all, size := w.decode(s)
		if err := query.AccountOf(ctx).Take(size); err != nil {
			return err
		}
		read += all.Len()
		w.empty = append(w.empty, all.Len() == 0 || all.Times[0] > w.plan.Range.ScanEnd)
		kept, err := w.plan.HistogramsOf(all)
		if err != nil {
			return err
		}
		notes, err := parseAnnotations(ctx, s.Annotations)
		if err != nil {
			return err
		}
		w.spans, w.notes = append(w.spans, kept), append(w.notes, notes)
	}
	query.From(ctx).Read(read)
	return ctx.Err()
}

// decode reads the histograms of a series. Those that cannot be read, of another codec for instance, are left out, as a TSD
// does. size is what they take.
func (w *histogramWorker) decode(p *storage.Points) (all aggregate.Histograms, size int64) {
	for i := range p.Objects {
		o := &p.Objects[i]
		if o.Kind != storage.KindCoded {
			continue
		}
		if h, err := schema.ParseStoredHistogram(o.Data, w.codec); err == nil {
			all.Add(o.Time, h)
			size += histogramBytes + int64(len(h.Buckets))*bucketBytes
		}
	}
	return all, size
}

// Commit implements storage.PartWorker: groups get their members in order.
func (w *histogramWorker) Commit(context.Context) error {
	for i, span := range w.spans {
		g := &w.groups[w.of.of[w.from+i]]
		g.annotations = append(g.annotations, w.notes[i]...)
		if !w.empty[i] {
			g.histograms, g.members = append(g.histograms, span), append(g.members, int32(w.from+i))
		}
	}
	return nil
}

// results computes the series of the groups.
func (h *histogramReading) results(ctx context.Context, whole bool) (out []Group, err error) {
	turn := query.TurnOf(ctx)
	for i := range h.groups {
		g := &h.groups[i]
		if len(g.members) == 0 && len(g.annotations) == 0 {
			continue
		}
		all, err := h.plan.SumHistograms(g.histograms, func() error { return turn.Yield(ctx) })
		if err != nil {
			return nil, err
		}
		shown := all
		if !whole {
			shown = all.Within(h.plan.Range.Start, h.plan.Range.End)
		}
		group := Group{Tags: []storage.Tag{}, AggregatedTags: []string{}} // without a name, of annotations alone
		if len(g.members) > 0 {
			if group, err = newGroup(h.of.members, g.members, aggregate.Span{}); err != nil {
				return nil, err
			}
		}
		group.Annotations = h.request.shown(g.annotations)
		for _, s := range h.query.histogramSeries(all) {
			if err := query.AccountOf(ctx).Take(int64(shown.Len())*pointBytes + seriesBytes); err != nil {
				return nil, err
			}
			if err := turn.Yield(ctx); err != nil {
				return nil, err
			}
			one := group
			one.Metric, one.Points = group.Metric+s.suffix, s.points(shown)
			out = append(out, one)
		}
	}
	return out, nil
}

// A histogramSeries is one of those that a group of histograms is shown as.
type histogramSeries struct {
	suffix string // of the metric
	add    func(s *aggregate.Span, time int64, h *schema.SimpleHistogram)
}

func (s *histogramSeries) points(all aggregate.Histograms) (points aggregate.Span) {
	for i, t := range all.Times {
		s.add(&points, t, &all.Values[i])
	}
	return points
}

// histogramSeries returns the series of a group. The buckets are those of its first histogram, which may be one that is
// not shown.
func (q *SubQuery) histogramSeries(all aggregate.Histograms) (out []histogramSeries) {
	for _, p := range q.Percentiles {
		out = append(out, histogramSeries{"_pct_" + javaFloat(p), func(s *aggregate.Span, time int64, h *schema.SimpleHistogram) {
			s.Add(time, aggregate.Percentile(h, p))
		}})
	}
	if !q.ShowBuckets || all.Len() == 0 {
		return out
	}
	count := func(suffix string, of func(h *schema.SimpleHistogram) int64) {
		out = append(out, histogramSeries{suffix, func(s *aggregate.Span, time int64, h *schema.SimpleHistogram) { s.AddLong(time, of(h)) }})
	}
	count("_UNDERFLOW", func(h *schema.SimpleHistogram) int64 { return h.Underflow })
	for _, b := range all.Values[0].Buckets {
		count("_"+javaFloat(b.Lower)+"_"+javaFloat(b.Upper), func(h *schema.SimpleHistogram) int64 { return aggregate.CountIn(h, b) })
	}
	count("_OVERFLOW", func(h *schema.SimpleHistogram) int64 { return h.Overflow })
	return out
}

// javaFloat is Java's Float.toString.
func javaFloat(f float32) string { return string(java.AppendFloat(nil, float64(f), 32)) }
