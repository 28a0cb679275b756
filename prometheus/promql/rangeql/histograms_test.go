package rangeql_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// histogramStore holds series with the hints that they were given, which a store need not change. A
// selector gets the samples of its time alone, as from a TSDB.
type histogramStore struct{ series []storedSeries }

type storedSeries struct {
	labels  labels.Labels
	samples storedSamples
}

type storedSamples []chunks.Sample

func (s storedSamples) Get(i int) chunks.Sample { return s[i] }
func (s storedSamples) Len() int                { return len(s) }

func (s storedSamples) between(start, end int64) storedSamples {
	s = s[slices.IndexFunc(append(slices.Clone(s), storedSample{t: math.MaxInt64}), func(c chunks.Sample) bool { return c.T() >= start }):]
	return s[:slices.IndexFunc(append(slices.Clone(s), storedSample{t: math.MaxInt64}), func(c chunks.Sample) bool { return c.T() > end })]
}

// Querier implements storage.Queryable.
func (s *histogramStore) Querier(mint, maxt int64) (promstorage.Querier, error) {
	return histogramQuerier{promstorage.NoopQuerier(), s, mint, maxt}, nil
}

type histogramQuerier struct {
	promstorage.Querier
	store      *histogramStore
	mint, maxt int64
}

func (q histogramQuerier) Select(_ context.Context, _ bool, hints *promstorage.SelectHints, matchers ...*labels.Matcher) promstorage.SeriesSet {
	start, end := max(q.mint, hints.Start), min(q.maxt, hints.End)
	set := &histogramSet{next: -1}
	for _, s := range q.store.series {
		samples := s.samples.between(start, end)
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) || len(samples) == 0 {
			continue
		}
		set.series = append(set.series, &promstorage.SeriesEntry{
			Lset:             s.labels,
			SampleIteratorFn: func(chunkenc.Iterator) chunkenc.Iterator { return promstorage.NewListSeriesIteratorWithCopy(samples) },
		})
	}
	return set
}

type histogramSet struct {
	series []promstorage.Series
	next   int
}

func (s *histogramSet) Next() bool                        { s.next++; return s.next < len(s.series) }
func (s *histogramSet) At() promstorage.Series            { return s.series[s.next] }
func (s *histogramSet) Err() error                        { return nil }
func (s *histogramSet) Warnings() annotations.Annotations { return nil }

// storedSample is a float, or a histogram of either kind.
type storedSample struct {
	t  int64
	f  float64
	h  *histogram.Histogram
	fh *histogram.FloatHistogram
}

func (s storedSample) T() int64                { return s.t }
func (s storedSample) ST() int64               { return 0 }
func (s storedSample) F() float64              { return s.f }
func (s storedSample) H() *histogram.Histogram { return s.h }
func (s storedSample) Copy() chunks.Sample     { return s }
func (s storedSample) FH() *histogram.FloatHistogram {
	if s.h != nil {
		return s.h.ToFloat(nil)
	}
	return s.fh
}

func (s storedSample) Type() chunkenc.ValueType {
	switch {
	case s.h != nil:
		return chunkenc.ValHistogram
	case s.fh != nil:
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// histogramMaker makes the samples of a series: counters that restart as a whole or in one bucket, gauges,
// stale markers, changes of layout, floats in between.
type histogramMaker struct {
	rng     *rand.Rand
	layout  int // an index into layouts
	floats  bool
	gauge   bool
	mixed   bool // has floats as well
	hinted  bool // has explicit hints
	counts  []float64
	changes bool
}

// layouts are empty histograms.
func layouts() []histogram.FloatHistogram {
	spans := []histogram.Span{{Offset: 0, Length: 3}, {Offset: 2, Length: 2}}
	return []histogram.FloatHistogram{
		{Schema: 0, PositiveSpans: spans},
		{Schema: 2, PositiveSpans: spans},
		{Schema: 3, PositiveSpans: spans},
		{Schema: -1, PositiveSpans: spans, ZeroThreshold: 1e-3},
		{Schema: histogram.CustomBucketsSchema, PositiveSpans: []histogram.Span{{Offset: 0, Length: 5}}, CustomValues: []float64{1, 2, 5, 10}},
		{Schema: histogram.CustomBucketsSchema, PositiveSpans: []histogram.Span{{Offset: 0, Length: 5}}, CustomValues: []float64{1, 2, 4, 10}},
	}
}

const bucketsOfLayouts = 5

func (m *histogramMaker) next(t int64) storedSample {
	if m.counts == nil {
		m.counts = make([]float64, bucketsOfLayouts)
	}
	for i := range m.counts {
		m.counts[i] += float64(m.rng.IntN(4))
	}
	switch n := m.rng.IntN(40); {
	case n < 2:
		m.counts = make([]float64, bucketsOfLayouts)
	case n < 5: // shows in a bucket alone
		m.counts[m.rng.IntN(len(m.counts))] = 0
		m.counts[m.rng.IntN(len(m.counts))] += 20
	case n < 6 && m.changes:
		m.layout = m.rng.IntN(len(layouts()))
	case n < 8 && m.mixed:
		return storedSample{t: t, f: []float64{1, 2, math.Float64frombits(value.StaleNaN)}[m.rng.IntN(3)]}
	case n < 11:
		return m.marker(t)
	}
	return m.sample(t)
}

// marker is a stale marker as remote write sends it.
func (m *histogramMaker) marker(t int64) storedSample {
	sum := math.Float64frombits(value.StaleNaN)
	if m.floats {
		return storedSample{t: t, fh: &histogram.FloatHistogram{Sum: sum}}
	}
	return storedSample{t: t, h: &histogram.Histogram{Sum: sum}}
}

func (m *histogramMaker) sample(t int64) storedSample {
	fh := layouts()[m.layout]
	fh.PositiveBuckets = slices.Clone(m.counts)
	for i, c := range m.counts {
		fh.Count += c
		fh.Sum += c * float64(i+1)
	}
	if fh.ZeroThreshold > 0 {
		fh.ZeroCount = m.counts[0]
		fh.Count += fh.ZeroCount
	}
	switch {
	case m.gauge:
		fh.CounterResetHint = histogram.GaugeType
	case m.hinted && m.rng.IntN(2) == 0:
		fh.CounterResetHint = histogram.CounterResetHint(m.rng.IntN(3))
	}
	if m.floats {
		return storedSample{t: t, fh: &fh}
	}
	h := &histogram.Histogram{
		CounterResetHint: fh.CounterResetHint, Schema: fh.Schema, ZeroThreshold: fh.ZeroThreshold, ZeroCount: uint64(fh.ZeroCount),
		Count: uint64(fh.Count), Sum: fh.Sum, PositiveSpans: fh.PositiveSpans, CustomValues: fh.CustomValues,
	}
	before := int64(0)
	for _, c := range m.counts {
		h.PositiveBuckets = append(h.PositiveBuckets, int64(c)-before)
		before = int64(c)
	}
	return storedSample{t: t, h: h}
}

// newHistogramStore makes series of half an hour.
func newHistogramStore(rng *rand.Rand, series int) *histogramStore {
	s := &histogramStore{}
	for i := range series {
		name := []string{"h", "other"}[i%2]
		m := &histogramMaker{
			rng: rng, layout: rng.IntN(len(layouts())), floats: rng.IntN(3) == 0, gauge: rng.IntN(6) == 0,
			mixed: rng.IntN(4) == 0, hinted: rng.IntN(3) == 0, changes: rng.IntN(3) == 0,
		}
		one := storedSeries{labels: labels.FromStrings(model.MetricNameLabel, name, "i", fmt.Sprint(i/2), "group", fmt.Sprint(i%3))}
		for at := rng.Int64N(60_000); at < histogramsEnd; {
			one.samples = append(one.samples, m.next(at))
			at += []int64{30_000, 30_000, 30_000, 15_000, 1, 90_000, 400_000}[rng.IntN(6+rng.IntN(2))]
		}
		s.series = append(s.series, one)
	}
	slices.SortFunc(s.series, func(a, b storedSeries) int { return labels.Compare(a.labels, b.labels) })
	return s
}

const histogramsEnd = 1800_000

// histogramQuestion makes a query that leaves out buckets, most times.
func histogramQuestion(rng *rand.Rand) question {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	selector := func() string { return pick("h", "h", "other", `{i=~"[0-4]"}`, `h{group="1"}`) }
	modifiers := func() string {
		return pick("", "", "", "", " offset 45s", " offset -1m", " @ 900", " @ start()", " @ end() offset 1m")
	}
	ranged := func() string {
		f := pick("increase", "increase", "rate", "delta", "irate", "idelta", "sum_over_time", "avg_over_time", "last_over_time", "first_over_time", "resets", "changes", "count_over_time", "present_over_time")
		if rng.IntN(4) == 0 {
			return fmt.Sprintf("%s(%s[%s] %s%s)", pick("increase", "rate", "delta", "resets", "changes"), selector(), pick("45s", "1m", "2m", "5m"), pick("anchored", "smoothed"), modifiers())
		}
		return fmt.Sprintf("%s(%s[%s]%s)", f, selector(), pick("45s", "1m", "90s", "2m", "5m", "10m"), modifiers())
	}
	vector := func() string {
		switch rng.IntN(8) {
		case 0:
			return selector() + modifiers()
		case 1:
			return selector() + " smoothed" + modifiers()
		case 2:
			return fmt.Sprintf("%s(%s[%s:%s]%s)", pick("increase", "sum_over_time", "last_over_time", "rate"), pick(selector(), ranged()), pick("2m", "5m"), pick("", "30s", "45s"), modifiers())
		}
		return ranged()
	}
	text := vector()
	switch rng.IntN(8) {
	case 0:
		text = fmt.Sprintf("%s by (group) (%s)", pick("sum", "avg"), text)
	case 1:
		text = fmt.Sprintf("%s %s %s", text, pick("+", "-"), vector())
	case 2:
		text = fmt.Sprintf("(%s) %s 2", text, pick("*", "/"))
	}
	if rng.IntN(6) > 0 {
		text = fmt.Sprintf("%s(%s)", pick("histogram_count", "histogram_sum", "histogram_avg"), text)
	}
	switch rng.IntN(10) {
	case 0:
		text = fmt.Sprintf("%s %s %s", text, pick("+", "/", "and", "or", "unless"), text)
	case 1:
		text = fmt.Sprintf("max_over_time((%s)[5m:%s])", text, pick("30s", "1m"))
	case 2:
		text = fmt.Sprintf("sum(%s)", text)
	}
	q := question{text: text, unordered: strings.Contains(text, ":"), attempts: 50, start: rng.Int64N(histogramsEnd), instant: rng.IntN(2) == 0}
	q.step = []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 301 * time.Second, 10 * time.Minute}[rng.IntN(6)]
	q.end = q.start + rng.Int64N(histogramsEnd)
	if rng.IntN(3) == 0 {
		q.start -= q.start % 30_000
	}
	return q
}

// TestHistogramsAsLibrary compares both engines over histograms: values, hints, annotations, errors.
func TestHistogramsAsLibrary(t *testing.T) {
	questions := scale.Of(t, "random queries over histograms", 1500, 3000, 100_000)
	rng := rand.New(rand.NewPCG(21, 22))
	both := []engines{newEngines(t, manySamples, false), newEngines(t, manySamples, true)}
	answered := 0
	for i := range questions {
		s := newHistogramStore(rng, 6)
		if both[i%2].compare(t, histogramQuestion(rng), columnSource{Queryable: s}) > 0 {
			answered++
		}
		if t.Failed() {
			t.Fatalf("question %d", i)
		}
	}
	if answered < questions/2 {
		t.Errorf("only %d queries found anything", answered)
	}
}

// TestRestartsWithoutBuckets: counts of increases are right although the library leaves out the buckets.
func TestRestartsWithoutBuckets(t *testing.T) {
	stale := storedSample{h: &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}}
	of := func(layout int, counts ...float64) storedSample {
		m := histogramMaker{layout: layout, counts: append(counts, make([]float64, bucketsOfLayouts-len(counts))...)}
		return m.sample(0)
	}
	for _, c := range []struct {
		name    string
		samples []storedSample // 30 s apart
		text    string
		want    float64
	}{
		{"restart behind a marker", []storedSample{of(0, 10), stale, of(0, 5), of(0, 7)}, "histogram_count(increase(h[2m]))", 28. / 3},
		{"marker alone", []storedSample{of(1, 10), stale, of(1, 12), of(1, 14)}, "histogram_count(increase(h[2m]))", 16. / 3},
		{"bucket alone, anchored", []storedSample{of(0, 5, 5), of(0, 3, 10), of(0, 4, 12)}, "histogram_count(increase(h[45s] anchored))", 16},
		{"bucket alone, smoothed", []storedSample{of(0, 5, 5), of(0, 3, 10), of(0, 4, 12)}, "histogram_count(increase(h[45s] smoothed))", 9.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.samples {
				c.samples[i].t = int64(i) * 30_000
			}
			one := storedSeries{labels: labels.FromStrings(model.MetricNameLabel, "h")}
			for _, s := range c.samples {
				one.samples = append(one.samples, s)
			}
			s := columnSource{Queryable: &histogramStore{series: []storedSeries{one}}}
			q := question{text: c.text, start: c.samples[len(c.samples)-1].t, instant: true}
			e := newEngines(t, manySamples, false)
			e.compare(t, q, s)
			r, query := q.ask(t, e.ours, s)
			defer query.Close()
			if v, ok := r.Value.(promql.Vector); !ok || len(v) != 1 || math.Abs(v[0].F-c.want) > 1e-9 {
				t.Errorf("%v, %v, want %v", r.Value, r.Err, c.want)
			}
		})
	}
}

// BenchmarkHistograms evaluates counters of native histograms.
func BenchmarkHistograms(b *testing.B) {
	c := &testColumns{}
	for i := range 100 {
		s := testSeries{labels: labels.FromStrings(model.MetricNameLabel, "h", "i", fmt.Sprint(i))}
		for j := range 240 {
			h := &histogram.FloatHistogram{PositiveSpans: []histogram.Span{{Length: 20}}}
			for k := range 20 {
				h.PositiveBuckets = append(h.PositiveBuckets, float64(j*k))
				h.Count += float64(j * k)
			}
			s.histograms = append(s.histograms, promql.HPoint{T: int64(j) * 15_000, H: h})
		}
		c.series = append(c.series, s)
	}
	e := newEngines(b, manySamples, false)
	for _, text := range []string{"histogram_count(h)", "histogram_count(rate(h[5m]))", "histogram_sum(h smoothed)", "rate(h[5m])"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			q := question{text: text, start: 0, end: 240 * 15_000, step: time.Minute}
			for b.Loop() {
				r, query := q.ask(b, e.ours, memorySource{columns: c})
				if r.Err != nil {
					b.Fatal(r.Err)
				}
				query.Close()
			}
		})
	}
}
