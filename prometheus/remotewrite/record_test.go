package remotewrite

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// tsuidOf is the TSUID of a series of these tests.
func tsuidOf(ref storage.Ref) []byte {
	return binary.BigEndian.AppendUint32([]byte("tsuid"), uint32(ref)) //nolint:gosec // small numbers
}

func tsuidsOf(dst [][]byte, refs []storage.Ref) [][]byte {
	for _, ref := range refs {
		dst = append(dst, tsuidOf(ref))
	}
	return dst
}

// randomBatch is a batch, and its entries in the order in which they were added.
func randomBatch(r *rand.Rand, most int) (b storage.Batch, want []entry) {
	for range r.IntN(most) {
		ref, at := storage.Ref(1+r.IntN(9)), r.Int64N(storage.MaxTime)
		e := entry{series: int(ref), time: at}
		switch r.IntN(4) {
		case 0:
			e.kind, e.data = storage.Kind(1+r.IntN(200)), make([]byte, r.IntN(50))
			for i := range e.data {
				e.data[i] = byte(r.Uint32())
			}
			b.AddObject(ref, at, e.kind, e.data)
		case 1:
			n := r.Int64N(1 << 50)
			e.value = float64(n)
			b.AddForm(ref, at, math.Float64frombits(uint64(n)), storage.FormInteger) //nolint:gosec // not negative
		default:
			e.value = math.Float64frombits(r.Uint64())
			b.Add(ref, at, e.value)
		}
		want = append(want, e)
	}
	return b, want
}

// TestRecords writes random batches into records and reads them.
func TestRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b, want := randomBatch(r, 500)
		w := new(recorders).encode(&b, tsuidsOf, 7)
		if w.entries != len(want) || w.refused != 0 {
			t.Fatalf("%d entries and %d refused of %d", w.entries, w.refused, len(want))
		}
		for _, record := range w.all {
			tsuids, entries, err := decodeRecord(record)
			if err != nil {
				t.Fatal(err)
			}
			if at, err := cameAt(record); at != 7 || err != nil {
				t.Fatalf("came at %d, %v", at, err)
			}
			for _, e := range entries {
				if got := string(tsuids[e.series]); got != string(tsuidOf(storage.Ref(want[0].series))) {
					t.Fatalf("series %q, want %d", got, want[0].series)
				}
				e.series = want[0].series
				if e.kind != want[0].kind || e.time != want[0].time || math.Float64bits(e.value) != math.Float64bits(want[0].value) || string(e.data) != string(want[0].data) {
					t.Fatalf("%+v, want %+v", e, want[0])
				}
				want = want[1:]
			}
		}
		if len(want) != 0 {
			t.Fatalf("%d entries are missing", len(want))
		}
	}
}

// TestLargeBatch cuts a large batch into records, and refuses an object that is too large.
func TestLargeBatch(t *testing.T) {
	var b storage.Batch
	for i := range 1_000_000 {
		b.Add(storage.Ref(1+i%1000), int64(i), 1/float64(i))
	}
	b.AddObject(1, 1, storage.KindHistogram, make([]byte, mostObject+1))
	w := new(recorders).encode(&b, tsuidsOf, 0)
	if len(w.all) < 2 || w.entries != 1_000_000 || w.refused != 1 {
		t.Fatalf("%d records, %d entries, %d refused", len(w.all), w.entries, w.refused)
	}
	n := 0
	for _, record := range w.all {
		_, entries, err := decodeRecord(record)
		if err != nil {
			t.Fatal(err)
		}
		n += len(entries)
	}
	if n != w.entries {
		t.Fatalf("%d entries are read, want %d", n, w.entries)
	}
}

// FuzzRecord reads any bytes as a record.
func FuzzRecord(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		b, _ := randomBatch(r, 20)
		for _, record := range new(recorders).encode(&b, tsuidsOf, 7).all {
			f.Add(record)
		}
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		tsuids, entries, err := decodeRecord(record)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.series < 0 || e.series >= len(tsuids) {
				t.Errorf("series %d of %d", e.series, len(tsuids))
			}
		}
	})
}

func BenchmarkEncodeBatch(b *testing.B) {
	var batch storage.Batch
	for i := range 2000 {
		batch.Add(storage.Ref(1+i), 1_700_000_000_000, float64(i))
	}
	all := tsuidsOf(nil, batch.Refs)
	of := func(dst [][]byte, refs []storage.Ref) [][]byte { return append(dst, all[:len(refs)]...) }
	b.ReportAllocs()
	var r recorders
	for b.Loop() {
		r.encode(&batch, of, 0)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2000, "ns/sample")
}
