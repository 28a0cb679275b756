package appendable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// testStore is a store behind an Appendable, and what reads it.
type testStore struct {
	*Appendable
	*queryable.Store
	stored *store.Store
}

func newTestStore(t *testing.T, change ...func(*Options)) testStore {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	s := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	o := Options{SeriesBytes: 1 << 10, SeriesCache: 100, Appender: s, Metadata: s.Documents(), Names: names, Now: promtest.Now}
	for _, c := range change {
		c(&o)
	}
	return testStore{New(o), queryable.New(s, names, queryable.Limits{}), s}
}

// floats returns the samples of a selector as text.
func (s testStore) floats(t *testing.T, selector string) string {
	t.Helper()
	q, err := s.Querier(0, storage.MaxTime)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var b strings.Builder
	set := q.Select(t.Context(), true, nil, promtest.Matchers(t, selector)...)
	for set.Next() {
		fmt.Fprint(&b, set.At().Labels())
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			switch kind {
			case chunkenc.ValFloat:
				at, v := it.At()
				fmt.Fprintf(&b, " %d:%x", at, math.Float64bits(v))
			case chunkenc.ValHistogram:
				at, h := it.AtHistogram(nil)
				fmt.Fprintf(&b, " %d:%s", at, h)
			default:
				at, h := it.AtFloatHistogram(nil)
				fmt.Fprintf(&b, " %d:%s", at, h)
			}
		}
		b.WriteString("\n")
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRandomTransactions appends random samples in transactions and reads them back with the same bits.
func TestRandomTransactions(t *testing.T) {
	s := newTestStore(t)
	r := rand.New(rand.NewPCG(1, 2))
	want := map[int]map[int64]uint64{}
	for range 50 {
		app := s.AppenderV2(t.Context())
		kept := r.IntN(5) > 0
		for range r.IntN(40) {
			n, at, bits := r.IntN(8), int64(r.IntN(7_200_000)), r.Uint64()
			if _, err := app.Append(0, testLabels(n), 0, at, math.Float64frombits(bits), nil, nil, promstorage.AppendV2Options{}); err != nil {
				t.Fatal(err)
			}
			if kept {
				if want[n] == nil {
					want[n] = map[int64]uint64{}
				}
				want[n][at] = bits
			}
		}
		end := app.Rollback
		if kept {
			end = app.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	for n, samples := range want {
		got := s.floats(t, testLabels(n).String())
		for at, bits := range samples {
			if !strings.Contains(got, fmt.Sprintf(" %d:%x", at, bits)) {
				t.Errorf("series %d lacks %x at %d", n, bits, at)
			}
		}
		if have := strings.Count(got, ":"); have != len(samples) {
			t.Errorf("series %d has %d samples, want %d", n, have, len(samples))
		}
	}
}

func testLabels(n int) labels.Labels {
	return labels.FromStrings(model.MetricNameLabel, "m", "n", fmt.Sprint(n))
}

// TestKinds appends what a series may have in addition to floats.
func TestKinds(t *testing.T) {
	s := newTestStore(t)
	app := s.AppenderV2(t.Context())
	ints, floats := tsdbutil.GenerateTestHistogram(3), tsdbutil.GenerateTestFloatHistogram(4)
	o := promstorage.AppendV2Options{
		MetricFamilyName: "m", Metadata: metadata.Metadata{Type: "histogram", Help: "Some.", Unit: "seconds"},
		Exemplars: []exemplar.Exemplar{{Labels: labels.FromStrings("trace", "x"), Value: 7, Ts: 1000, HasTs: true}},
	}
	for _, err := range []error{
		second(app.Append(0, testLabels(1), 500, 1000, 0, ints, nil, o)),
		second(app.Append(0, testLabels(1), 0, 2000, 0, nil, floats, o)),
		app.Commit(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := s.floats(t, "m")
	for _, want := range []string{"1000:" + ints.String(), "2000:" + floats.String()} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	q, err := s.ExemplarQuerier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := q.Select(0, 5000, promtest.Matchers(t, "m"))
	if err != nil || len(found) != 1 || len(found[0].Exemplars) != 1 || found[0].Exemplars[0].Value != 7 {
		t.Errorf("exemplars %v, %v", found, err)
	}
	all, err := s.stored.Documents().Metadata(t.Context())
	if want := (storage.Metadata{Type: "histogram", Help: "Some.", Unit: "seconds"}); err != nil || all["m"] != want {
		t.Errorf("metadata %v, %v", all, err)
	}
}

func second[A any](_ A, err error) error { return err }

// TestRefused appends what cannot be stored. What came with it is stored.
func TestRefused(t *testing.T) {
	bad := tsdbutil.GenerateTestHistogram(1)
	bad.Count = 0
	noThreshold := tsdbutil.GenerateTestHistogram(1)
	noThreshold.ZeroThreshold = math.NaN()
	for _, tc := range []struct {
		labels labels.Labels
		at     int64
		h      *histogram.Histogram
		want   string
	}{
		{labels.FromStrings("a", "b"), 1, nil, "no metric name"},
		{labels.FromStrings(model.MetricNameLabel, "m", "a", "\xff"), 1, nil, `value of label "a" is not UTF-8`},
		{labels.FromStrings(model.MetricNameLabel, "m", "\xff", "a"), 1, nil, `is not UTF-8`},
		{labels.FromStrings(model.MetricNameLabel, "m", "a", strings.Repeat("x", 2000)), 1, nil, "more than 1024 bytes"},
		{testLabels(1), -1, nil, "is negative"},
		{testLabels(1), storage.MaxTime + 1, nil, "after the year 2106"},
		{testLabels(1), promtest.Now().UnixMilli() + 120_000, nil, "--write.max-future"},
		{testLabels(1), 1, bad, "histogram"},
		{testLabels(1), 1, noThreshold, "zero threshold"},
	} {
		s := newTestStore(t, func(o *Options) { o.Future = 60e9 })
		app := s.AppenderV2(t.Context())
		_, err := app.Append(0, tc.labels, 0, tc.at, 1, tc.h, nil, promstorage.AppendV2Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v at %d: %v, want %q", tc.labels, tc.at, err, tc.want)
		}
		_, good := app.Append(0, testLabels(2), 0, 5, 1, nil, nil, promstorage.AppendV2Options{})
		if err := errors.Join(good, app.Commit()); err != nil {
			t.Error(err)
		}
		if got := s.floats(t, "m"); !strings.Contains(got, " 5:") || strings.Count(got, ":") != 1 {
			t.Errorf("stored: %s", got)
		}
	}
}

// refusing refuses series for good, or all appends for now.
type refusing struct {
	storage.Appender
	away error
}

func (r refusing) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
	refs, errs := r.Appender.Resolve(ctx, series)
	for i, s := range series {
		for _, tag := range s.Tags {
			if tag.Value == "3" {
				if errs == nil {
					errs = make([]error, len(series))
				}
				refs[i], errs[i] = 0, fmt.Errorf("%w: no", storage.ErrLimit)
			}
		}
	}
	return refs, errs
}

func (r refusing) Append(ctx context.Context, b *storage.Batch) error {
	if r.away != nil {
		return r.away
	}
	return r.Appender.Append(ctx, b)
}

// TestRefusedByStore commits series of which the store refuses one. The others are stored, in order.
func TestRefusedByStore(t *testing.T) {
	s := newTestStore(t, func(o *Options) { o.Appender = refusing{Appender: o.Appender} })
	app := s.Appender(t.Context())
	for i := range 10 {
		for n := range 5 {
			var err error
			if i%3 == 1 {
				_, err = app.AppendHistogram(0, testLabels(n), int64(i), tsdbutil.GenerateTestHistogram(int64(n)), nil)
			} else {
				_, err = app.Append(0, testLabels(n), int64(i), float64(n))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	err := app.Commit()
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Series != 1 || refused.Samples != 10 || !strings.Contains(err.Error(), `n="3"`) {
		t.Fatalf("%v", err)
	}
	for n := range 5 {
		want := 1 + strings.Count(s.floats(t, testLabels(0).String()), " ")
		if got := 1 + strings.Count(s.floats(t, testLabels(n).String()), " "); n != 3 && got != want || n == 3 && got != 1 {
			t.Errorf("series %d has %d fields, want %d", n, got, want)
		}
	}
}

// TestAway commits while the store is away. It is no refusal, so that the caller sends it again.
func TestAway(t *testing.T) {
	s := newTestStore(t, func(o *Options) { o.Appender = refusing{o.Appender, promtest.ErrEngine} })
	app := s.AppenderV2(t.Context())
	_, err := app.Append(0, testLabels(1), 0, 1, 1, nil, nil, promstorage.AppendV2Options{})
	if err = errors.Join(err, app.Commit()); !errors.Is(err, promtest.ErrEngine) {
		t.Errorf("%v", err)
	}
	if _, refusal := errors.AsType[*RefusedError](err); refusal {
		t.Errorf("%v is a refusal", err)
	}
}
