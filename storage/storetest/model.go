package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Sample is what the model keeps at an instant of a series.
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

// AddRandom puts one datum into the batch and, last wins, into the model.
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

// Put notes a sample of series n.
func (m *Model) Put(n int, time int64, s Sample) { m.samples[n][time] = s }

// Of returns the part of the model that is of some series, in their order.
func (m *Model) Of(series []int) *Model {
	some := &Model{}
	for _, n := range series {
		some.samples, some.exemplars = append(some.samples, m.samples[n]), append(some.exemplars, m.exemplars[n])
	}
	return some
}

// Check reads everything back and compares.
func (m *Model) Check(t *testing.T, s *storage.Store, refs []storage.Ref, start, end int64) {
	t.Helper()
	got := NewModel(len(refs))
	for p, err := range s.Select(t.Context(), storage.Query{Refs: refs, Start: start, End: end, Samples: true, Exemplars: true}) {
		if err != nil {
			t.Fatal(err)
		}
		n := slices.Index(refs, p.Ref)
		if !slices.IsSorted(p.Times) {
			t.Fatalf("times of series %d are not sorted: %v", n, p.Times)
		}
		for i, time := range p.Times {
			if _, ok := got.samples[n][time]; ok {
				t.Fatalf("series %d has two samples at %d", n, time)
			}
			got.samples[n][time] = Sample{Bits: math.Float64bits(p.Values[i])}
		}
		for _, o := range p.Objects {
			switch o.Kind {
			case storage.KindExemplar:
				got.exemplars[n][fmt.Sprint(o.Time, " ", string(o.Data))] = true
			case storage.KindHistogram:
				if _, ok := got.samples[n][o.Time]; ok {
					t.Fatalf("series %d has two samples at %d", n, o.Time)
				}
				got.samples[n][o.Time] = Sample{Histogram: string(o.Data)}
			}
		}
	}
	want := NewModel(len(refs))
	for n := range refs {
		for time, v := range m.samples[n] {
			if time >= start && time <= end {
				want.samples[n][time] = v
			}
		}
		for e := range m.exemplars[n] {
			var time int64
			_, _ = fmt.Sscan(e, &time)
			if time >= start && time <= end {
				want.exemplars[n][e] = true
			}
		}
	}
	if diff := cmp.Diff(want.samples, got.samples); diff != "" {
		t.Fatalf("samples (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.exemplars, got.exemplars); diff != "" {
		t.Fatalf("exemplars (-want +got):\n%s", diff)
	}
}

// Delete notes that the samples of series n from start to end (milliseconds, inclusive) were
// deleted.
func (m *Model) Delete(n int, start, end int64) {
	for time := range m.samples[n] {
		if time >= start && time <= end {
			delete(m.samples[n], time)
		}
	}
}
