package store_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// integersIn returns the points of all rows, and which of them are integers.
func integersIn(t *testing.T, db kv.KV) (points []schema.Point) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if schema.ClassifyCell(c.Qualifier) == schema.CellAges {
				continue
			}
			if points, err = schema.DecodeData(points, c.Qualifier, c.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return points
}

// TestForms: a point that came as an integer is stored as one, and a point that a TSD stores in 8
// bytes has 8. Readers get the same numbers from both, by either write mode and after a crash.
func TestForms(t *testing.T) {
	doubles := []float64{1.5, 1.5, -2, 0, math.Copysign(0, -1), 0.1, 1.5}
	values := []int64{0, 1, -1, 127, 128, -32769, 1 << 40, math.MaxInt64, math.MinInt64, 1<<53 + 1}
	var b storage.Batch
	fill := func(ref storage.Ref) {
		b.Reset()
		b.Add(ref, 1356998400000, 0.5) // before the first integer
		for i, v := range values {
			b.AddForm(ref, 1356998401000+int64(i)*1000, math.Float64frombits(uint64(v)), storage.FormInteger)
		}
		b.Add(ref, 1356998500000, 2)
		for i, v := range doubles {
			b.AddForm(ref, 1356998501000+int64(i)*1000, v, storage.FormDouble)
		}
	}
	check := func(s *store.Store, ref storage.Ref) {
		t.Helper()
		want := []float64{0.5}
		for _, v := range values {
			want = append(want, float64(v))
		}
		want = append(append(want, 2), doubles...)
		for p, err := range s.Select(t.Context(), storage.Query{Refs: []storage.Ref{ref}, End: storage.MaxTime, Samples: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Values, want) {
				t.Errorf("read %v, want %v", p.Values, want)
			}
		}
	}
	rows := func(db kv.KV) {
		t.Helper()
		points := integersIn(t, db)
		const float4, float8 = 0xB, 0xF
		last := len(values) + 1
		if len(points) != last+1+len(doubles) || points[0].Flags != float4 || points[last].Flags != float4 {
			t.Fatalf("points %v", points)
		}
		for i, p := range points[last+1:] {
			if p.Flags != float8 || p.Float() != doubles[i] {
				t.Errorf("%v is %v, want 8 bytes", doubles[i], p)
			}
		}
		for i, v := range values {
			if p := points[i+1]; p != schema.IntPoint(p.Offset, v) {
				t.Errorf("%d is %v, want %v", v, p, schema.IntPoint(p.Offset, v))
			}
		}
	}

	db := kv.NewMem(storetest.Tables()...)
	through := storetest.Open(t, db)
	ref := storetest.Resolve(t, through, storetest.Series("m", "host", "a"))[0]
	fill(ref)
	if err := through.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	check(through, ref)
	rows(db)

	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	never := func(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 }
	p := storetest.StartBuffered(t, db, disk, never)
	ref = storetest.Resolve(t, p.Store, storetest.Series("m", "host", "a"))[0]
	fill(ref)
	if err := p.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	check(p.Store, ref)
	p.Stop()
	p = storetest.StartBuffered(t, db, disk.Kill(2), never)
	check(p.Store, storetest.Resolve(t, p.Store, storetest.Series("m", "host", "a"))[0])
	p.Stop()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows(db)
}

// TestUnits: on shared tables a whole second that came in milliseconds has the qualifier that a TSD
// gives it, in either write mode, after a crash, and when its row is put anew; a correction in
// either unit leaves one cell.
func TestUnits(t *testing.T) {
	for _, mode := range []write.Mode{write.Through, write.Buffered} {
		t.Run(string(mode), func(t *testing.T) {
			db, disk := kv.NewShared(storetest.Tables()...), logtest.New(1)
			start := func() *storetest.Process {
				return storetest.Start(t, db, func(o *store.Options) {
					o.Exclusive, o.Mode = false, mode
					o.Buffer.Dir, o.Buffer.FS, o.Buffer.FlushDelay, o.Buffer.FlushInterval = "log", disk, 1<<60, 1<<60
				})
			}
			p := start()
			put := func(form storage.Form, value float64, seconds ...int64) {
				t.Helper()
				var b storage.Batch
				ref := p.Resolve([]storage.Series{storetest.Series("m", "host", "a")})[0]
				for _, s := range seconds {
					b.AddForm(ref, (1356998400+s)*1000, value, form)
				}
				if err := p.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
			}
			check := func(when string, want ...bool) {
				t.Helper()
				if p.Buffered() {
					p.Stop()
					disk = disk.Kill(2)
					p = start()
					if err := p.FlushAll(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				points := integersIn(t, db)
				slices.SortFunc(points, func(a, b schema.Point) int { return int(a.Offset) - int(b.Offset) })
				var got []bool
				for _, point := range points {
					got = append(got, point.Millis)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: in milliseconds: %v, want %v (%v)", when, got, want, points)
				}
			}
			put(storage.FormMillis, 1.5, 2, 4)
			put(storage.FormInteger|storage.FormMillis, 0, 5)
			put(storage.FormDouble, 1.5, 6)
			check("put", true, true, true, false)
			put(storage.FormMillis, 2.5, 1, 4) // late, and a correction
			check("corrected", true, true, true, true, false)
			put(storage.FormFloat, 3.5, 4)
			put(storage.FormMillis, 3.5, 6)
			check("corrected in the other unit", true, true, false, true, true)
		})
	}
}
