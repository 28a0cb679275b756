package queryable

import (
	"math"
	"math/rand"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

const hour = int64(3600_000)

// writeHistograms appends histograms that grow, one at each time.
func (p *promStorage) writeHistograms(t testing.TB, ls labels.Labels, times ...int64) {
	t.Helper()
	app := p.AppenderV2(t.Context())
	for i, at := range times {
		if _, err := app.Append(0, ls, 0, at, 0, tsdbutil.GenerateTestHistogram(int64(i+1)), nil, promstorage.AppendV2Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// hintsOf lists the hints of the histograms of all series of a set.
func hintsOf(t testing.TB, set promstorage.SeriesSet) []histogram.CounterResetHint {
	t.Helper()
	var out []histogram.CounterResetHint
	for set.Next() {
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind != chunkenc.ValFloat {
				_, fh := it.AtFloatHistogram(nil)
				out = append(out, fh.CounterResetHint)
			}
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHintBeforeRange checks the first histogram of a range, whose hint depends on the samples
// before the range.
func TestHintBeforeRange(t *testing.T) {
	const unknown, not = histogram.UnknownCounterReset, histogram.NotCounterReset
	start := 100 * hour
	for _, tc := range []struct {
		name   string
		before []int64 // times of histograms before the range
		float  int64   // time of a float, 0: none
		want   histogram.CounterResetHint
	}{
		{"nothing", nil, 0, unknown},
		{"just before", []int64{start - 1}, 0, not},
		{"an hour", []int64{start - hour}, 0, not},
		{"a little more", []int64{start - hour - 1}, 0, not},
		{"a day", []int64{start - 24*hour}, 0, not},
		{"too old", []int64{start - 24*hour - 1}, 0, unknown},
		{"a float between", []int64{start - 20}, start - 10, unknown},
		{"a float earlier", []int64{start - 10}, start - 20, not},
		{"a float in the range", []int64{start - 10}, start, unknown},
	} {
		p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, Limits{})
		ls := promtest.Labels(t, "m")
		p.writeHistograms(t, ls, append(tc.before, start+5, start+10)...)
		if tc.float != 0 {
			p.Write(t, ls, tc.float)
		}
		got := hintsOf(t, p.querier(start, start+hour).Select(t.Context(), true, nil))
		if len(got) != 2 || got[0] != tc.want || got[1] != not {
			t.Errorf("%s: %v, want %v then %v", tc.name, got, tc.want, not)
		}
	}
}

// TestNoLookback counts reads: a series of floats costs one.
func TestNoLookback(t *testing.T) {
	for _, tc := range []struct {
		name  string
		write func(*promStorage)
		want  int
	}{
		{"floats", func(p *promStorage) { p.Write(t, promtest.Labels(t, "m"), 2*hour) }, 1},
		{"histograms", func(p *promStorage) { p.writeHistograms(t, promtest.Labels(t, "m"), 2*hour-1, 2*hour) }, 2},
		{"first histograms", func(p *promStorage) { p.writeHistograms(t, promtest.Labels(t, "m"), 2*hour) }, 3},
	} {
		s := &promtest.PlainStore{}
		p := newPromStorageOf(s, promtest.RawNames{}, Limits{})
		tc.write(p)
		hintsOf(t, p.querier(2*hour, 3*hour).Select(t.Context(), true, nil))
		if s.Selects != tc.want {
			t.Errorf("%s: %d reads, want %d", tc.name, s.Selects, tc.want)
		}
	}
}

// FuzzResetHints compares the hints with those of the TSDB's own chunks over the same samples.
func FuzzResetHints(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		data := randomHistograms(rand.New(rand.NewSource(seed)))
		metas, err := promstorage.ExpandChunks(promstorage.NewSeriesToChunkEncoder(&shownSeries{data: data}).Iterator(nil))
		if err != nil {
			t.Fatal(err)
		}
		var want []histogram.CounterResetHint
		for _, m := range metas {
			it := m.Chunk.Iterator(nil)
			for it.Next() != chunkenc.ValNone {
				_, fh := it.AtFloatHistogram(nil)
				want = append(want, fh.CounterResetHint)
			}
		}
		claimed := make([]histogram.CounterResetHint, len(data.hists))
		for i := range data.hists {
			claimed[i] = data.hists[i].hint()
		}
		data.setResetHints(nil)
		for i := range data.hists {
			if got := data.hists[i].hint(); got != want[i] {
				t.Errorf("histogram %d, claimed %v: hint %v, the TSDB says %v", i, claimed[i], got, want[i])
			}
		}
	})
}

// randomHistograms makes fewer histograms than the TSDB puts into one chunk, with everything that
// makes it begin another chunk.
func randomHistograms(r *rand.Rand) *seriesSamples {
	s := &seriesSamples{}
	floats := r.Intn(2) == 0
	n := int64(5)
	for i := range 2 + r.Intn(80) {
		h := tsdbutil.GenerateTestHistogram(n)
		switch n++; r.Intn(12) {
		case 0:
			n = int64(r.Intn(10))
		case 1:
			h.Schema++
		case 2:
			h.ZeroThreshold *= 2
		case 3:
			h = &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		case 4:
			h = tsdbutil.GenerateTestCustomBucketsHistogram(n)
		case 5:
			h.CounterResetHint = histogram.CounterResetHint(r.Intn(4))
		case 6:
			h.PositiveBuckets[0]--
		case 7:
			h.PositiveSpans, h.PositiveBuckets = []histogram.Span{{Offset: 0, Length: 2}}, h.PositiveBuckets[:2]
		case 8:
			floats = !floats
		}
		if floats {
			s.hists = append(s.hists, histSample{time: int64(i), flts: h.ToFloat(nil)})
		} else {
			s.hists = append(s.hists, histSample{time: int64(i), ints: h})
		}
	}
	return s
}
