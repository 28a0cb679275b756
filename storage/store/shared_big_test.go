package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// Rows with a long history are settled as fast as they are read: nothing in them takes quadratic
// time.
func TestRowsWithLongPasts(t *testing.T) {
	const timeLimit = 20 * time.Second // of some 50 ms; minutes where something is quadratic
	for _, c := range []struct {
		name string
		make func(*world)
	}{
		{"every second put and compacted, twice", func(w *world) {
			for v := range 2 {
				w.putSeconds(0, 3600, float64(v)+0.5)
				w.compact(w.keys[0])
			}
			w.putSeconds(0, 3600, 2.5)
		}},
		{"compacted again and again", func(w *world) {
			for i := range 60 {
				w.putSeconds(i, i+1, 1.5)
				w.compact(w.keys[0])
			}
		}},
		{"every second corrected often", func(w *world) {
			for v := range 20 {
				w.putSeconds(0, 900, float64(v))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 1, 0)
			held, late := w.adapters[0], w.adapters[1]
			for i := range 3600 {
				w.acknowledge(held, int64(i)*1000, -1)
			}
			c.make(w)
			for i := range 1800 {
				w.acknowledge(late, int64(i)*2000, -2)
			}
			begin := time.Now()
			held.flush()
			late.flush()
			if took := time.Since(begin); took > timeLimit {
				t.Errorf("two flushes of the row took %v", took)
			}
			w.check()
		})
	}
}

// acknowledge has an adapter acknowledge a point of the first row, a millisecond after everything
// before.
func (w *world) acknowledge(a *adapter, offset int64, v float64) {
	w.t.Helper()
	w.clock.Add(1)
	var b storage.Batch
	b.Add(a.refs[0], 1356998400000+offset, v)
	w.model.Put(0, 1356998400000+offset, storetest.Sample{Bits: math.Float64bits(v)})
	if err := a.Append(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
}

// replace has an adapter acknowledge a value at the first seconds of the first row, all at once.
func (w *world) replace(a *adapter, seconds int64, v float64) {
	w.t.Helper()
	var b storage.Batch
	for i := range seconds {
		b.Add(a.refs[0], 1356998400000+i*1000, v)
		w.model.Put(0, 1356998400000+i*1000, storetest.Sample{Bits: math.Float64bits(v)})
	}
	if err := a.Append(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
}

// putSeconds has the TSD put a value at each second of a part of the first row, a millisecond
// apart.
func (w *world) putSeconds(from, to int, v float64) {
	w.t.Helper()
	m := kv.Mutation{Key: w.keys[0]}
	for i := from; i < to; i++ {
		point, _ := schema.FloatPoint(uint32(i*1000), v, schema.ValuesDouble)
		q, value := schema.AppendCell(nil, nil, []schema.Point{point})
		m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: value, Time: w.clock.Add(1)})
		w.model.Put(0, 1356998400000+int64(i)*1000, storetest.Sample{Bits: math.Float64bits(v)})
	}
	w.apply(m)
}
