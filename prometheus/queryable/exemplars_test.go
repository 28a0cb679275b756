package queryable

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// exemplarStore holds exemplars of four series, two of which have the same labels.
func exemplarStore(t testing.TB) *promtest.PlainStore {
	t.Helper()
	s := &promtest.PlainStore{}
	refs, _ := s.Resolve(t.Context(), []storage.Series{
		{Metric: "m", Tags: []storage.Tag{{Key: "job", Value: "a"}}},
		{Metric: "m", Tags: []storage.Tag{{Key: "alias", Value: "a"}}},
		{Metric: "m", Tags: []storage.Tag{{Key: "job", Value: "b"}}},
		{Metric: "n", Tags: []storage.Tag{{Key: "job", Value: "c"}}},
	})
	b := storage.Batch{}
	add := func(ref storage.Ref, at int64, v float64) {
		data := histogramcodec.EncodeExemplar(exemplar.Exemplar{Labels: labels.FromStrings("id", fmt.Sprint(v)), Value: v})
		b.AddObject(ref, at, storage.KindExemplar, data)
	}
	add(refs[0], 1000, 1)
	add(refs[0], 3000, 3)
	add(refs[1], 2000, 2)
	add(refs[2], 1000, 5)
	add(refs[2], 1000, 4)
	b.Add(refs[3], 1000, 1)
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExemplars(t *testing.T) {
	p := New(exemplarStore(t), promtest.RawNames{}, Limits{Samples: 5})
	for _, tc := range []struct {
		start, end int64
		selectors  []string
		want       []string
	}{
		{0, 5000, []string{`m`}, []string{
			`{__name__="m", job="a"} {id="1"} 1@1000 {id="2"} 2@2000 {id="3"} 3@3000`,
			`{__name__="m", job="b"} {id="4"} 4@1000 {id="5"} 5@1000`,
		}},
		{1000, 1000, []string{`m{job="a"}`, `m`, `n`}, []string{
			`{__name__="m", job="a"} {id="1"} 1@1000`,
			`{__name__="m", job="b"} {id="4"} 4@1000 {id="5"} 5@1000`,
		}},
		{1001, 5000, []string{`m`}, []string{`{__name__="m", job="a"} {id="2"} 2@2000 {id="3"} 3@3000`}},
		{0, 5000, []string{`n`}, nil},
		{0, 5000, []string{`x`}, nil},
		{5000, 0, []string{`m`}, nil},
	} {
		q, err := p.ExemplarQuerier(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var matchers [][]*labels.Matcher
		for _, s := range tc.selectors {
			matchers = append(matchers, promtest.Matchers(t, s))
		}
		results, err := q.Select(tc.start, tc.end, matchers...)
		if err != nil || results == nil {
			t.Fatalf("%v: %v, %v", tc.selectors, results, err)
		}
		var got []string
		for _, r := range results {
			line := r.SeriesLabels.String()
			for _, e := range r.Exemplars {
				line += fmt.Sprintf(" %s %v@%d", e.Labels, e.Value, e.Ts)
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%d to %d %v: -want +got\n%s", tc.start, tc.end, tc.selectors, diff)
		}
	}
}

func TestExemplarsFail(t *testing.T) {
	for _, tc := range []struct {
		limits Limits
		fail   error
		want   error
	}{
		{Limits{Samples: 4}, nil, storage.ErrLimit},
		{Limits{Series: 2}, nil, storage.ErrLimit},
		{Limits{}, promtest.ErrEngine, promtest.ErrEngine},
	} {
		s := exemplarStore(t)
		s.Fail = tc.fail
		q, _ := New(s, promtest.RawNames{}, tc.limits).ExemplarQuerier(t.Context())
		if results, err := q.Select(0, 5000, promtest.Matchers(t, "m")); !errors.Is(err, tc.want) {
			t.Errorf("%+v: %v, %v, want %v", tc.limits, results, err, tc.want)
		}
	}
}
