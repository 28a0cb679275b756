package storetest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// A Sample is the model's sample at an instant of a series.
type Sample struct {
	Bits      uint64 // of a float
	Histogram string // or a histogram's data
}

// A Model is a plain list of what was written.
type Model struct {
	samples   []map[int64]Sample
	exemplars []map[string]bool // "time data"
}

// NewModel returns an empty model.
func NewModel(series int) *Model {
	m := &Model{}
	for range series {
		m.samples = append(m.samples, map[int64]Sample{})
		m.exemplars = append(m.exemplars, map[string]bool{})
	}
	return m
}

// Values are the floats of the tests: those that 4 bytes hold, those that need 8, and those that
// need an object.
var Values = []float64{
	0, math.Copysign(0, -1), 1, 2.5, 0.1, math.Pi, 1e300, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1),
	math.Float64frombits(0x7ff0000000000002), math.NaN(), math.Float64frombits(0xfff8000000001234),
}

// AddRandom adds one random datum to the batch and to the model, where the last one of an instant
// wins.
func (m *Model) AddRandom(r *rand.Rand, b *storage.Batch, refs []storage.Ref, span int64) {
	n := r.IntN(len(refs))
	time := 1356998400000 + r.Int64N(span)*500
	switch r.IntN(10) {
	case 0:
		data := fmt.Sprintf("exemplar %d", r.IntN(3))
		b.AddObject(refs[n], time, storage.KindExemplar, []byte(data))
		m.exemplars[n][fmt.Sprint(time, " ", data)] = true
	case 1, 2:
		data := fmt.Sprintf("histogram %d", r.IntN(3))
		b.AddObject(refs[n], time, storage.KindHistogram, []byte(data))
		m.Put(n, time, Sample{Histogram: data})
	default:
		v := Values[r.IntN(len(Values))]
		b.Add(refs[n], time, v)
		m.Put(n, time, Sample{Bits: math.Float64bits(v)})
	}
}

// Put records a sample of series n.
func (m *Model) Put(n int, time int64, s Sample) { m.samples[n][time] = s }

// Of returns the part of the model that is of some series, in their order.
func (m *Model) Of(series []int) *Model {
	some := &Model{}
	for _, n := range series {
		some.samples, some.exemplars = append(some.samples, m.samples[n]), append(some.exemplars, m.exemplars[n])
	}
	return some
}

// Check reads everything back, series by series and in parts, and compares it with the model.
func (m *Model) Check(t *testing.T, s *store.Store, refs []storage.Ref, start, end int64) {
	t.Helper()
	want := m.between(start, end)
	query := storage.Query{Refs: refs, Start: start, End: end, Samples: true, Exemplars: true}
	whole := NewModel(len(refs))
	for p, err := range s.Select(t.Context(), query) {
		if err == nil {
			err = whole.add(slices.Index(refs, p.Ref), p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want.compare(t, "Select", whole)
	parts := &partsModel{Model: NewModel(len(refs)), refs: refs}
	if err := s.SelectParts(t.Context(), query, func() storage.PartWorker { return &partsWorker{whole: parts} }); err != nil {
		t.Fatal(err)
	}
	if parts.next != len(refs) && start <= end {
		t.Fatalf("SelectParts gave %d of %d series", parts.next, len(refs))
	}
	want.compare(t, "SelectParts", parts.Model)
	want.checkNewest(t, s, storage.Query{Refs: refs, Start: start, End: end, Samples: true, Newest: true})
}

// checkNewest reads the newest samples. Of a series whose newest sample is a histogram there must be
// all.
func (m *Model) checkNewest(t *testing.T, s *store.Store, query storage.Query) {
	t.Helper()
	parts := &partsModel{Model: NewModel(len(query.Refs)), refs: query.Refs}
	if err := s.SelectParts(t.Context(), query, func() storage.PartWorker { return &partsWorker{whole: parts} }); err != nil {
		t.Fatal(err)
	}
	want, got := NewModel(len(query.Refs)), NewModel(len(query.Refs))
	for n := range query.Refs {
		want.samples[n], got.samples[n] = newestOf(m.samples[n]), newestOf(parts.samples[n])
	}
	want.compare(t, "the newest samples", got)
	for n, read := range parts.samples {
		for time, sample := range read {
			if m.samples[n][time] != sample {
				t.Fatalf("beside the newest sample of series %d, %+v was read at %d, want %+v", n, sample, time, m.samples[n][time])
			}
		}
	}
}

// newestOf returns the newest of some samples, or all of them if that is a histogram.
func newestOf(samples map[int64]Sample) map[int64]Sample {
	if len(samples) == 0 {
		return samples
	}
	last := slices.Max(slices.Collect(maps.Keys(samples)))
	if samples[last].Histogram != "" {
		return samples
	}
	return map[int64]Sample{last: samples[last]}
}

// between is the part of the model from start to end (milliseconds, inclusive).
func (m *Model) between(start, end int64) *Model {
	some := NewModel(len(m.samples))
	for n := range m.samples {
		for time, v := range m.samples[n] {
			if time >= start && time <= end {
				some.samples[n][time] = v
			}
		}
		for e := range m.exemplars[n] {
			if time := exemplarTime(e); time >= start && time <= end {
				some.exemplars[n][e] = true
			}
		}
	}
	return some
}

func (m *Model) compare(t *testing.T, how string, got *Model) {
	t.Helper()
	if diff := cmp.Diff(m.samples, got.samples); diff != "" {
		t.Fatalf("samples of %s (-want +got):\n%s", how, diff)
	}
	if diff := cmp.Diff(m.exemplars, got.exemplars); diff != "" {
		t.Fatalf("exemplars of %s (-want +got):\n%s", how, diff)
	}
}

// add notes what was read of series n.
func (m *Model) add(n int, p storage.Points) error {
	if !slices.IsSorted(p.Times) {
		return fmt.Errorf("times of series %d are not sorted: %v", n, p.Times)
	}
	for i, time := range p.Times {
		if p.Distance != 0 && i > 0 && time-p.Times[i-1] != p.Distance {
			return fmt.Errorf("series %d has times at other distances than %d: %v", n, p.Distance, p.Times)
		}
		if _, ok := m.samples[n][time]; ok {
			return fmt.Errorf("series %d has two samples at %d", n, time)
		}
		m.samples[n][time] = Sample{Bits: math.Float64bits(p.Values[i])}
	}
	for _, o := range p.Objects {
		switch o.Kind {
		case storage.KindExemplar:
			m.exemplars[n][fmt.Sprint(o.Time, " ", string(o.Data))] = true
		case storage.KindHistogram:
			if _, ok := m.samples[n][o.Time]; ok {
				return fmt.Errorf("series %d has two samples at %d", n, o.Time)
			}
			m.samples[n][o.Time] = Sample{Histogram: string(o.Data)}
		}
	}
	return nil
}

// partsModel is what parts contained, which come in order.
type partsModel struct {
	*Model
	refs []storage.Ref
	next int // series
}

// partsWorker adds its parts when they are committed.
type partsWorker struct {
	whole *partsModel
	part  storage.Part
}

// Take implements storage.PartWorker.
func (w *partsWorker) Take(_ context.Context, p storage.Part) error {
	w.part = p
	return nil
}

// Commit implements storage.PartWorker.
func (w *partsWorker) Commit(context.Context) error {
	if w.part.From != w.whole.next {
		return fmt.Errorf("a part begins with series %d, want %d", w.part.From, w.whole.next)
	}
	for _, p := range w.part.Points {
		if p.Ref != w.whole.refs[w.whole.next] {
			return fmt.Errorf("series %d of the parts is %d, want %d", w.whole.next, p.Ref, w.whole.refs[w.whole.next])
		}
		if err := w.whole.add(w.whole.next, p); err != nil {
			return err
		}
		w.whole.next++
	}
	return nil
}

// Has reports whether series n has samples or exemplars.
func (m *Model) Has(n int) bool { return len(m.samples[n])+len(m.exemplars[n]) > 0 }

// Delete notes that the samples and exemplars of series n from start to end (milliseconds,
// inclusive) were deleted.
func (m *Model) Delete(n int, start, end int64) {
	maps.DeleteFunc(m.samples[n], func(time int64, _ Sample) bool { return time >= start && time <= end })
	maps.DeleteFunc(m.exemplars[n], func(e string, _ bool) bool {
		time := exemplarTime(e)
		return time >= start && time <= end
	})
}

func exemplarTime(e string) (time int64) {
	_, _ = fmt.Sscan(e, &time)
	return time
}

// Clone returns a copy.
func (m *Model) Clone() *Model {
	c := &Model{}
	for n := range m.samples {
		c.samples, c.exemplars = append(c.samples, maps.Clone(m.samples[n])), append(c.exemplars, maps.Clone(m.exemplars[n]))
	}
	return c
}

// Diff describes what another model has more or less; nothing if they hold the same.
func (m *Model) Diff(o *Model) string {
	return cmp.Diff(m.samples, o.samples) + cmp.Diff(m.exemplars, o.exemplars)
}

// Read returns what a store has of series.
func Read(t *testing.T, s *store.Store, refs []storage.Ref) *Model {
	t.Helper()
	got := NewModel(len(refs))
	for p, err := range s.Select(t.Context(), storage.Query{Refs: refs, Start: 0, End: storage.MaxTime, Samples: true, Exemplars: true}) {
		if err == nil {
			err = got.add(slices.Index(refs, p.Ref), p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}
