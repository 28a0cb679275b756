package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// tables are the four tables under their default names.
func tables() []kv.Table {
	return []kv.Table{
		{Name: "tsdb", Families: []string{"t"}},
		{Name: "tsdb-uid", Families: []string{"id", "name"}},
		{Name: "tsdb-meta", Families: []string{"name"}},
		{Name: "tsdb-tree", Families: []string{"t"}},
	}
}

// openStore opens a store over db, as a process that starts does, and waits until it is ready.
func openStore(t *testing.T, db kv.KV, change ...func(*storage.Options)) *storage.Store {
	t.Helper()
	o := storage.DefaultOptions()
	o.Exclusive = true
	for _, c := range change {
		c(&o)
	}
	s, err := storage.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for s.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal(s.Ready(t.Context()))
		}
	}
	return s
}

func series(metric string, tags ...string) storage.Series {
	s := storage.Series{Metric: metric}
	for i := 0; i < len(tags); i += 2 {
		s.Tags = append(s.Tags, storage.Tag{Key: tags[i], Value: tags[i+1]})
	}
	return s
}

func resolve(t *testing.T, s *storage.Store, list ...storage.Series) []storage.Ref {
	t.Helper()
	refs, errs := s.Resolve(t.Context(), list)
	if errs != nil {
		t.Fatal(errs)
	}
	return refs
}

// sample is what the model keeps at an instant of a series.
type sample struct {
	bits  uint64 // of a float
	histo string // or a histogram's data
	start string // start time's data
}

// model is a plain list of what was written.
type model struct {
	samples   []map[int64]sample
	exemplars []map[string]bool // "time data"
}

func newModel(series int) *model {
	m := &model{}
	for range series {
		m.samples = append(m.samples, map[int64]sample{})
		m.exemplars = append(m.exemplars, map[string]bool{})
	}
	return m
}

// values are the floats of the tests: those that 4 bytes hold, those that need 8, and those that need an object.
var values = []float64{0, math.Copysign(0, -1), 1, 2.5, 0.1, math.Pi, 1e300, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1),
	math.Float64frombits(0x7ff0000000000002), math.NaN(), math.Float64frombits(0xfff8000000001234)}

// addRandom puts one datum into the batch and, last wins, into the model.
func (m *model) addRandom(r *rand.Rand, b *storage.Batch, refs []storage.Ref, span int64) {
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
		m.put(n, time, sample{histo: data})
	default:
		v := values[r.IntN(len(values))]
		b.Add(refs[n], time, v)
		m.put(n, time, sample{bits: math.Float64bits(v)})
	}
}

// put keeps the start time of a sample that is written again as it was.
func (m *model) put(n int, time int64, new sample) {
	old := m.samples[n][time]
	if old.bits == new.bits && old.histo == new.histo {
		new.start = old.start
	}
	m.samples[n][time] = new
}

// check reads everything back and compares.
func (m *model) check(t *testing.T, s *storage.Store, refs []storage.Ref, start, end int64) {
	t.Helper()
	got := newModel(len(refs))
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
			got.samples[n][time] = sample{bits: math.Float64bits(p.Values[i])}
		}
		for _, o := range p.Objects {
			switch o.Kind {
			case storage.KindExemplar:
				got.exemplars[n][fmt.Sprint(o.Time, " ", string(o.Data))] = true
			case storage.KindHistogram:
				if _, ok := got.samples[n][o.Time]; ok {
					t.Fatalf("series %d has two samples at %d", n, o.Time)
				}
				got.samples[n][o.Time] = sample{histo: string(o.Data)}
			}
		}
	}
	want := newModel(len(refs))
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
	if diff := cmp.Diff(want.samples, got.samples, cmp.AllowUnexported(sample{})); diff != "" {
		t.Fatalf("samples (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.exemplars, got.exemplars); diff != "" {
		t.Fatalf("exemplars (-want +got):\n%s", diff)
	}
}

// checkRows looks at the cells themselves: what a TSD refuses must never stand in a row.
func checkRows(t *testing.T, db kv.KV) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		instants := map[uint32]bool{}
		for _, c := range row.Cells {
			switch schema.ClassifyCell(c.Qualifier) {
			case schema.CellData:
				points, err := schema.DecodeData(nil, c.Qualifier, c.Value)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range points {
					if instants[p.Offset] {
						t.Fatalf("row %x holds offset %d twice", row.Key, p.Offset)
					}
					if i > 0 && p.Offset <= points[i-1].Offset {
						t.Fatalf("row %x: cell %x is not sorted", row.Key, c.Qualifier)
					}
					if f := p.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
						t.Fatalf("row %x holds %v in an ordinary cell", row.Key, f)
					}
					instants[p.Offset] = true
				}
			case schema.CellObject:
				if n := len(c.Qualifier); n != 3 && n != 5 {
					t.Fatalf("row %x: object cell %x of %d bytes: a TSD's fsck deletes it", row.Key, c.Qualifier, n)
				}
			default:
				t.Fatalf("row %x: unexpected cell %x", row.Key, c.Qualifier)
			}
		}
	}
}

func TestAppendAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			db := kv.NewMem(tables()...)
			list := []storage.Series{series("m", "host", "a"), series("m", "host", "b"), series("m", "host", "a", "z", "1")}
			change := func(o *storage.Options) {
				o.Values = schema.Values(seed % 3)
				if seed%4 == 3 {
					o.Layout.SaltWidth = 1
				}
			}
			s := openStore(t, db, change)
			refs := resolve(t, s, list...)
			m := newModel(len(refs))
			span := []int64{20, 8000, 30000}[seed%3] // half seconds: few instants, one row, several rows
			for range 60 {
				var b storage.Batch
				for range 1 + r.IntN(12) {
					m.addRandom(r, &b, refs, span)
				}
				if err := s.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				if r.IntN(12) == 0 { // a restart
					s = openStore(t, db, change)
					refs = resolve(t, s, list...)
				}
			}
			m.check(t, s, refs, 0, storage.MaxTime)
			m.check(t, s, refs, 1356998400000+100, 1356998400000+3600_000)
			m.check(t, openStore(t, db, change), resolve(t, s, list...), 0, storage.MaxTime)
			checkRows(t, db)
		})
	}
}

// An append that fails may be half done; done again it leaves each point once.
func TestAppendRepeats(t *testing.T) {
	db := kv.NewMem(tables()...)
	s := openStore(t, db)
	refs := resolve(t, s, series("m", "host", "a"))
	m := newModel(1)
	var b storage.Batch
	for i := range int64(100) {
		b.Add(refs[0], 1356998400000+i*1000, float64(i)+0.1)
		m.put(0, 1356998400000+i*1000, sample{bits: math.Float64bits(float64(i) + 0.1)})
	}
	for range 3 {
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	m.check(t, s, refs, 0, storage.MaxTime)
	checkRows(t, db)
	rows := 0
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if len(row.Cells) != 1 {
			t.Errorf("row has %d cells, want the one of the first append", len(row.Cells))
		}
	}
	if rows != 1 {
		t.Errorf("%d rows, want 1", rows)
	}
}

// Rows written by a TSD: its cells stay, its integers stay integers when a point beside them changes.
func TestAppendToForeignRow(t *testing.T) {
	db := kv.NewMem(tables()...)
	s := openStore(t, db, func(o *storage.Options) { o.Exclusive = false })
	refs := resolve(t, s, series("m", "host", "a"))
	key := schema.DefaultLayout().AppendRowKey(nil, []byte("\x00\x00\x01\x00\x00\x01\x00\x00\x01"), 1356998400)
	put := func(q, v string) kv.Put { return kv.Put{Qualifier: []byte(q), Value: []byte(v)} }
	foreign := kv.Mutation{Key: key, Puts: []kv.Put{
		put("\x00\x00", "\x2a"),                         // 42 at +0
		put("\x05\x00\x00", "\x00\x10\x2b\x00\x20\x2c"), // append cell: 43 at +1, 44 at +2
		put("\x01\x00\x3c", `{"tsuid":"000001000001000001","startTime":1356998460,"endTime":0,"description":"","notes":"","custom":null}`),
	}}
	if err := db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{foreign}); err != nil {
		t.Fatal(err)
	}
	var b storage.Batch
	b.Add(refs[0], 1356998400000, 42) // another type at the same instant: must replace
	b.Add(refs[0], 1356998403000, 45)
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	m := newModel(1)
	for i, v := range []float64{42, 43, 44, 45} {
		m.put(0, 1356998400000+int64(i)*1000, sample{bits: math.Float64bits(v)})
	}
	m.check(t, s, refs, 0, storage.MaxTime)
	rows, err := db.Get(t.Context(), "tsdb", "t", [][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	// One merged cell (float 42, integers 43 and 44, float 45) and the annotation.
	if len(rows[0].Cells) != 2 || !bytes.Equal(rows[0].Cells[0].Qualifier, []byte("\x00\x0b\x00\x10\x00\x20\x00\x3b")) {
		t.Errorf("cells = %x", rows[0].Cells)
	}
}

// A row of many single cells is put together on a local engine when a late point makes it be read; nothing changes for readers.
func TestAppendGathersCells(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		db := kv.NewMem(tables()...)
		s := openStore(t, db, func(o *storage.Options) { o.Exclusive = exclusive })
		refs := resolve(t, s, series("m", "host", "a"))
		m := newModel(1)
		write := func(time int64, v float64) {
			t.Helper()
			var b storage.Batch
			b.Add(refs[0], time, v)
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			m.put(0, time, sample{bits: math.Float64bits(v)})
		}
		for i := range int64(100) {
			write(1356998400000+i*2000, values[i%int64(len(values))])
		}
		write(1356998400000+3000, 7) // late
		write(1356998400000, 8)      // corrected
		m.check(t, s, refs, 0, storage.MaxTime)
		checkRows(t, db)
		for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
			if err != nil {
				t.Fatal(err)
			}
			// One data cell and one object cell; on a cluster the 36 object cells stay single, the correction made one data cell.
			if want := map[bool]int{true: 2, false: 37}[exclusive]; len(row.Cells) != want {
				t.Errorf("exclusive %v: %d cells, want %d", exclusive, len(row.Cells), want)
			}
		}
	}
}
