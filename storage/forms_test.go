package storage_test

import (
	"math"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// integersIn are the points of all rows, and which of them are integers.
func integersIn(t *testing.T, db kv.KV) (points []schema.Point) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if points, err = schema.DecodeData(points, c.Qualifier, c.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return points
}

// TestForms: what came as an integer is one in its cell, what a TSD stores in 8 bytes has 8, and both are the numbers that they are to readers, by either
// way of writing and after a crash.
func TestForms(t *testing.T) {
	doubles := []float64{1.5, 1.5, -2, 0, math.Copysign(0, -1), 0.1, 1.5}
	values := []int64{0, 1, -1, 127, 128, -32769, 1 << 40, math.MaxInt64, math.MinInt64, 1<<53 + 1}
	var b storage.Batch
	fill := func(ref storage.Ref) {
		b.Reset()
		b.Add(ref, 1356998400000, 0.5) // before the first integer
		for i, v := range values {
			b.AddInteger(ref, 1356998401000+int64(i)*1000, v)
		}
		b.Add(ref, 1356998500000, 2)
		for i, v := range doubles {
			b.AddForm(ref, 1356998501000+int64(i)*1000, v, storage.FormDouble)
		}
	}
	check := func(s *storage.Store, ref storage.Ref) {
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
			if p := points[i+1]; !p.IsInt() || p != schema.IntPoint(p.Offset, v) {
				t.Errorf("%d is %v, want %v", v, p, schema.IntPoint(p.Offset, v))
			}
		}
	}

	db := kv.NewMem(storetest.Tables()...)
	through := openStore(t, db)
	ref := resolve(t, through, series("m", "host", "a"))[0]
	fill(ref)
	if err := through.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	check(through, ref)
	rows(db)

	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	never := func(o *storage.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 }
	p := startBuffered(t, db, disk, never)
	ref = resolve(t, p.Store, series("m", "host", "a"))[0]
	fill(ref)
	if err := p.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	check(p.Store, ref)
	p.Stop()
	p = startBuffered(t, db, disk.Kill(2), never)
	check(p.Store, resolve(t, p.Store, series("m", "host", "a"))[0])
	p.Stop()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows(db)
}
