package promtest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// PlainStore is a store in maps, without a schema. It serves tests of readers that do not need the
// real store.
type PlainStore struct {
	mu     sync.Mutex
	series []storage.Series
	points []plainPoints

	Selects int // Select calls so far
	// Fail, when set, ends every Select after the series FailAfter.
	Fail      error
	FailAfter int
}

type plainPoints struct {
	floats  map[int64]float64
	objects []storage.Object
}

func (s *PlainStore) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]storage.Ref, len(series))
	for i, want := range series {
		n := slices.IndexFunc(s.series, func(have storage.Series) bool {
			return have.Metric == want.Metric && slices.Equal(have.Tags, want.Tags)
		})
		if n < 0 {
			n = len(s.series)
			s.series = append(s.series, want)
			s.points = append(s.points, plainPoints{floats: map[int64]float64{}})
		}
		refs[i] = storage.Ref(n + 1)
	}
	return refs, nil
}

func (s *PlainStore) Append(_ context.Context, b *storage.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, ref := range b.Refs {
		p := &s.points[ref-1]
		p.floats[b.Times[i]] = b.Values[i]
	}
	for _, o := range b.Objects {
		p := &s.points[o.Ref-1]
		p.objects = append(p.objects, o)
		slices.SortStableFunc(p.objects, func(a, b storage.Object) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return nil
}

func (s *PlainStore) Find(_ context.Context, filters []storage.Filter, _, _ int64, limit int) ([]storage.Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []storage.Found
	for i, series := range s.series {
		if passes(filters, series) {
			out = append(out, storage.Found{Ref: storage.Ref(i + 1), Series: series})
		}
	}
	if limit > 0 && len(out) > limit {
		return nil, httpapi.Limit("series", int64(limit))
	}
	slices.Reverse(out)
	return out, nil
}

func passes(filters []storage.Filter, s storage.Series) bool {
	for _, f := range filters {
		if !passesOne(f, s) {
			return false
		}
	}
	return true
}

func passesOne(f storage.Filter, s storage.Series) bool {
	accepts := func(v string) bool {
		if f.Values != nil {
			return slices.Contains(f.Values, v)
		}
		return f.Match == nil || f.Match(v)
	}
	if f.Keys == nil {
		return accepts(s.Metric)
	}
	seen := false
	for _, t := range s.Tags {
		if slices.Contains(f.Or, t.Key) {
			return true
		}
		if slices.Contains(f.Keys, t.Key) {
			seen = true
			if accepts(t.Value) {
				return true
			}
		}
	}
	return !seen && f.Absent
}

func (s *PlainStore) Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error] {
	return func(yield func(storage.Points, error) bool) {
		s.mu.Lock()
		s.Selects++
		s.mu.Unlock()
		given := 0
		for _, ref := range q.Refs {
			if ctx.Err() != nil {
				yield(storage.Points{}, ctx.Err())
				return
			}
			if s.Fail != nil && int(ref) > s.FailAfter {
				yield(storage.Points{}, s.Fail)
				return
			}
			p := s.slice(ref, q)
			if given += len(p.Times) + len(p.Objects); q.MaxSamples > 0 && given > q.MaxSamples {
				yield(storage.Points{}, httpapi.Limit("samples", int64(q.MaxSamples)))
				return
			}
			if len(p.Times)+len(p.Objects) > 0 && !yield(p, nil) {
				return
			}
		}
	}
}

// SelectParts has one worker, which takes one series at a time.
func (s *PlainStore) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	w, from := worker(), 0
	for p, err := range s.Select(ctx, q) {
		if err != nil {
			return err
		}
		for q.Refs[from] != p.Ref {
			from++
		}
		if err := w.Take(ctx, storage.Part{From: from, Points: []storage.Points{p}}); err != nil {
			return err
		}
		if err := w.Commit(ctx); err != nil {
			return err
		}
		from++
	}
	return nil
}

func (s *PlainStore) slice(ref storage.Ref, q storage.Query) storage.Points {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := storage.Points{Ref: ref}
	in := func(t int64) bool { return q.Start <= t && t <= q.End }
	if q.Samples {
		for t := range s.points[ref-1].floats {
			if in(t) {
				p.Times = append(p.Times, t)
			}
		}
		slices.Sort(p.Times)
		for _, t := range p.Times {
			p.Values = append(p.Values, s.points[ref-1].floats[t])
		}
	}
	for _, o := range s.points[ref-1].objects {
		if wanted := q.Samples && o.Kind != storage.KindExemplar || q.Exemplars && o.Kind == storage.KindExemplar; wanted && in(o.Time) {
			p.Objects = append(p.Objects, o)
		}
	}
	return p
}

func (s *PlainStore) names(pick func(storage.Series, func(string))) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, series := range s.series {
		pick(series, func(n string) { out = append(out, n) })
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (s *PlainStore) Metrics(context.Context, int64, int64) ([]string, error) {
	return s.names(func(s storage.Series, add func(string)) { add(s.Metric) })
}

func (s *PlainStore) TagKeys(context.Context, int64, int64) ([]string, error) {
	return s.names(func(s storage.Series, add func(string)) {
		for _, t := range s.Tags {
			add(t.Key)
		}
	})
}

func (s *PlainStore) TagValues(_ context.Context, key string, _, _ int64) ([]string, error) {
	return s.names(func(s storage.Series, add func(string)) {
		for _, t := range s.Tags {
			if t.Key == key {
				add(t.Value)
			}
		}
	})
}

var (
	_ storage.Querier  = (*PlainStore)(nil)
	_ storage.Appender = (*PlainStore)(nil)
)

// RawNames translates without escaping, and shows the tag "alias" of foreign series as "job", so
// that two stored series can have one label set.
type RawNames struct{}

func (RawNames) FromLabels(ls labels.Labels) storage.Series {
	s := storage.Series{Metric: "-"}
	ls.Range(func(l labels.Label) {
		if l.Name == model.MetricNameLabel {
			s.Metric = l.Value
		} else {
			s.Tags = append(s.Tags, storage.Tag{Key: l.Name, Value: l.Value})
		}
	})
	if len(s.Tags) == 0 {
		s.Tags = []storage.Tag{{Key: "-", Value: "1"}}
	}
	return s
}

func (n RawNames) ToLabels(s storage.Series) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(model.MetricNameLabel, n.FromMetric(s.Metric))
	for _, t := range s.Tags {
		if name, ok := n.Label(t.Key); ok {
			b.Set(name, t.Value)
		}
	}
	return b.Labels()
}

func (RawNames) FromMetric(m string) string {
	if m == "-" {
		return ""
	}
	return m
}

func (RawNames) Label(key string) (string, bool) {
	if key == "alias" {
		return "job", true
	}
	return key, key != "-"
}

func (RawNames) Uniform() bool { return true }

func (RawNames) LabelValue(stored string) string { return stored }

func (RawNames) Filters(ms []*labels.Matcher) []storage.Filter {
	var out []storage.Filter
	for _, m := range ms {
		f := storage.Filter{Keys: []string{m.Name}, Match: m.Matches, Absent: m.Matches("")}
		switch m.Name {
		case model.MetricNameLabel:
			f.Keys = nil
			f.Match = func(v string) bool { return m.Matches(RawNames{}.FromMetric(v)) }
		case "job":
			f.Keys = []string{"job", "alias"}
		}
		out = append(out, f)
	}
	return out
}
