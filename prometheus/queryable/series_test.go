package queryable

import (
	"math"
	"math/rand"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// mixedSamples has a float, an integer histogram or a float histogram at each multiple of 10 below
// 10 n, of the kinds in turn.
func mixedSamples(kinds string, n int) *seriesSamples {
	s := &seriesSamples{}
	for i := range n {
		t := int64(10 * i)
		switch kinds[i%len(kinds)] {
		case 'f':
			s.times, s.values = append(s.times, t), append(s.values, float64(i))
		case 'h':
			s.hists = append(s.hists, histSample{time: t, ints: tsdbutil.GenerateTestHistogram(int64(i))})
		case 'H':
			s.hists = append(s.hists, histSample{time: t, flts: tsdbutil.GenerateTestFloatHistogram(int64(i))})
		}
		if i%3 == 0 {
			s.starts = append(s.starts, startTime{t, t - 5})
		}
	}
	return s
}

// testSample is the expected content of an iterator at one position.
type testSample struct {
	st, t int64
	kind  chunkenc.ValueType
	v     float64
}

func (s *seriesSamples) expected(kinds string, n int) []testSample {
	valueTypes := map[byte]chunkenc.ValueType{'f': chunkenc.ValFloat, 'h': chunkenc.ValHistogram, 'H': chunkenc.ValFloatHistogram}
	var out []testSample
	for i := range n {
		e := testSample{t: int64(10 * i), kind: valueTypes[kinds[i%len(kinds)]], v: float64(i)}
		if i%3 == 0 {
			e.st = e.t - 5
		}
		out = append(out, e)
	}
	return out
}

func checkSample(t *testing.T, it chunkenc.Iterator, kind chunkenc.ValueType, want testSample) {
	t.Helper()
	if kind != want.kind || it.AtT() != want.t || it.AtST() != want.st {
		t.Fatalf("sample %v at %d since %d, want %v at %d since %d", kind, it.AtT(), it.AtST(), want.kind, want.t, want.st)
	}
	switch kind {
	case chunkenc.ValFloat:
		if at, v := it.At(); at != want.t || v != want.v {
			t.Fatalf("At() = %d, %v, want %d, %v", at, v, want.t, want.v)
		}
	case chunkenc.ValHistogram:
		if at, h := it.AtHistogram(nil); at != want.t || !h.Equals(tsdbutil.GenerateTestHistogram(int64(want.v))) {
			t.Fatalf("AtHistogram() = %d, %v", at, h)
		}
		fallthrough
	case chunkenc.ValFloatHistogram:
		if at, h := it.AtFloatHistogram(nil); at != want.t || !h.Equals(tsdbutil.GenerateTestFloatHistogram(int64(want.v))) {
			t.Fatalf("AtFloatHistogram() = %d, %v", at, h)
		}
	}
}

func TestSamplesIterator(t *testing.T) {
	var it chunkenc.Iterator
	for _, kinds := range []string{"f", "h", "H", "fh", "fhH", "ffH", "hhf"} {
		for _, n := range []int{0, 1, 2, 7} {
			data := mixedSamples(kinds, n)
			series := &shownSeries{labels: labels.EmptyLabels(), data: data}
			it = series.Iterator(it)
			for _, want := range data.expected(kinds, n) {
				checkSample(t, it, it.Next(), want)
			}
			if kind := it.Next(); kind != chunkenc.ValNone || it.Next() != chunkenc.ValNone || it.Seek(0) != chunkenc.ValNone || it.Err() != nil {
				t.Errorf("%s %d: %v after the end, %v", kinds, n, kind, it.Err())
			}
		}
	}
}

// FuzzSamplesIterator makes the same random steps on an iterator and on a list.
func FuzzSamplesIterator(f *testing.F) {
	f.Add(int64(1), uint8(20))
	f.Add(int64(2), uint8(0))
	f.Add(int64(3), uint8(200))
	f.Fuzz(func(t *testing.T, seed int64, n uint8) {
		r := rand.New(rand.NewSource(seed))
		kinds := []string{"f", "h", "fhH", "ffH"}[r.Intn(4)]
		data := mixedSamples(kinds, int(n))
		want := data.expected(kinds, int(n))
		it := (&shownSeries{data: data}).Iterator(nil)
		at := -1
		for at < len(want) {
			var kind chunkenc.ValueType
			if r.Intn(2) == 0 {
				kind = it.Next()
				at++
			} else {
				to := int64(r.Intn(10*int(n) + 10))
				kind = it.Seek(to)
				for at = max(at, 0); at < len(want) && want[at].t < to; at++ {
				}
			}
			if at < len(want) {
				checkSample(t, it, kind, want[at])
			} else if kind != chunkenc.ValNone {
				t.Fatalf("%v after the end", kind)
			}
		}
	})
}

// TestHistogramsAreCopies changes the histograms that the iterator returned, as the engine does.
func TestHistogramsAreCopies(t *testing.T) {
	series := &shownSeries{data: mixedSamples("hH", 2)}
	spoil := func(h *histogram.FloatHistogram) {
		h.PositiveBuckets[0], h.Count, h.PositiveSpans[0].Length = -1, -1, 99
	}
	for range 2 {
		it := series.Iterator(nil)
		it.Next()
		_, h := it.AtHistogram(nil)
		_, fh := it.AtFloatHistogram(nil)
		if h.Count != tsdbutil.GenerateTestHistogram(0).Count || !fh.Equals(tsdbutil.GenerateTestFloatHistogram(0)) {
			t.Fatalf("spoilt: %v %v", h, fh)
		}
		h.PositiveBuckets[0], h.Count, h.PositiveSpans[0].Length = -1, 99, 99
		spoil(fh)
		_, reused := it.AtHistogram(&histogram.Histogram{})
		reused.PositiveBuckets[0] = -1
		it.Next()
		for _, into := range []*histogram.FloatHistogram{nil, {}} {
			_, fh := it.AtFloatHistogram(into)
			if !fh.Equals(tsdbutil.GenerateTestFloatHistogram(1)) {
				t.Fatalf("spoilt: %v", fh)
			}
			spoil(fh)
		}
	}
}

// TestStoredSamples reads the store's samples, and refuses those that do not have the form of their
// kind.
func TestStoredSamples(t *testing.T) {
	h := tsdbutil.GenerateTestHistogram(3)
	p := storage.Points{
		Times: []int64{10, 30}, Values: []float64{math.Inf(1), -0.5},
		Objects: []storage.Object{
			{Time: 10, Kind: storage.KindStartTime, Data: histogramcodec.AppendStartTime(nil, -10)},
			{Time: 20, Kind: storage.KindHistogram, Data: histogramcodec.EncodeHistogram(h)},
		},
	}
	s, size, err := newSeriesSamples(p)
	if err != nil {
		t.Fatal(err)
	}
	p.Times[0], p.Values[0] = -1, -1 // the store's memory
	if s.times[0] != 10 || !math.IsInf(s.values[0], 1) || !s.hists[0].ints.Equals(h) || s.starts[0] != (startTime{10, 0}) {
		t.Errorf("%+v", s)
	}
	if want := 3 + len(p.Objects[1].Data)/16; size != want {
		t.Errorf("size %d, want %d", size, want)
	}
	for _, o := range []storage.Object{
		{Kind: storage.KindHistogram, Data: []byte{0xff}}, {Kind: storage.KindStartTime},
	} {
		if _, _, err := newSeriesSamples(storage.Points{Objects: []storage.Object{o}}); err == nil {
			t.Errorf("kind %d: no error for broken data", o.Kind)
		} else if status, _ := httpapi.QueryStatus(httpapi.QueryError(t.Context(), "read", err)); status != 503 {
			t.Errorf("kind %d: status %d for what only the store can mend, want 503", o.Kind, status)
		}
	}
}

// TestChunks decodes the encoded chunks: they have the same samples, no start times, and only
// encodings that old readers know.
func TestChunks(t *testing.T) {
	for _, kinds := range []string{"f", "h", "H", "fhH"} {
		for _, n := range []int{1, 119, 120, 121, 500} {
			data := mixedSamples(kinds, n)
			series := &shownSeries{labels: labels.FromStrings("a", "b"), data: data}
			metas, err := promstorage.ExpandChunks(chunkSeries{series}.Iterator(nil))
			if err != nil {
				t.Fatal(err)
			}
			want := data.expected(kinds, n)
			for _, m := range metas {
				if m.Chunk.Encoding() > chunkenc.EncFloatHistogram || m.Chunk.NumSamples() > chunkSamples || m.MinTime != want[0].t {
					t.Fatalf("%s %d: chunk of %v, %d samples from %d", kinds, n, m.Chunk.Encoding(), m.Chunk.NumSamples(), m.MinTime)
				}
				want = checkChunk(t, m, want)
			}
			if len(want) > 0 {
				t.Errorf("%s %d: %d samples are missing", kinds, n, len(want))
			}
		}
	}
}

func checkChunk(t *testing.T, m chunks.Meta, want []testSample) []testSample {
	t.Helper()
	last := int64(-1)
	it := m.Chunk.Iterator(nil)
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		want[0].st = 0
		checkSample(t, it, kind, want[0])
		last, want = it.AtT(), want[1:]
	}
	if m.MaxTime != last || it.Err() != nil {
		t.Fatalf("chunk ends at %d, says %d; %v", last, m.MaxTime, it.Err())
	}
	return want
}
