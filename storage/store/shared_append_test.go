package store_test

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// tail is what a TSD has appended to an append cell since an adapter put that.
type tail struct {
	value []byte // of the cell, after the TSD's last append
	from  int    // where what it appended begins
}

// append has a TSD append a point to a row. What it appended to the cell since an adapter put that
// counts as written again: the stamp of the cell is all that tells when.
func (w *world) append(at int, point schema.Point) {
	w.t.Helper()
	key := w.keys[at]
	rows, err := w.db.Get(w.t.Context(), "tsdb", "t", [][]byte{key})
	if err != nil {
		w.t.Fatal(err)
	}
	held, stamp := kv.Cell{}, w.clock.Load()
	for _, c := range rows[0].Cells {
		if schema.ClassifyCell(c.Qualifier) == schema.CellAppend {
			held, stamp = c, max(stamp, c.Time) // as HBase does
		}
	}
	end := w.tails[string(key)]
	if end == nil || !bytes.Equal(end.value, held.Value) {
		end = &tail{from: len(held.Value)}
	}
	end.value = schema.AppendArrivals(bytes.Clone(held.Value), []schema.Point{point})
	w.tails[string(key)] = end
	w.apply(kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: schema.ArrivalsQualifier(), Value: end.value, Time: stamp}}})
	arrived, err := schema.DecodeAppend(nil, end.value[end.from:])
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range arrived {
		time := 1356998400000 + int64(at%hours)*3600_000 + int64(p.Offset)
		w.model.Put(at/hours, time, storetest.Sample{Bits: math.Float64bits(p.Float())})
		w.tell("TSD: series %d at %d: %v, appended at %d", at/hours, time, p.Float(), stamp)
	}
}

// ofTestKey marks the calls of a test, as against what an adapter does of itself beside them.
type ofTestKey struct{}

func (w *world) ofTest() context.Context { return context.WithValue(w.t.Context(), ofTestKey{}, true) }

// racing is the database of an adapter: a TSD appends to rows that the adapter has just read to
// write them, at instants of its own. It does so in calls of the test alone, which makes one at a time: the model tells what
// was written in which order.
type racing struct {
	*kv.Shared
	w *world
}

// raceOffset is of the first instant at which a TSD appends while an adapter writes.
const raceOffset = instants * 60_000

// History implements kv.Versioned.
func (r racing) History(ctx context.Context, table, family string, keys [][]byte) ([]kv.History, error) {
	past, err := r.Shared.History(ctx, table, family, keys)
	if err != nil || table != "tsdb" || ctx.Value(ofTestKey{}) == nil || r.w.deleting.Load() > 0 || r.w.rng.IntN(4) > 0 {
		return past, err
	}
	for at, key := range r.w.keys {
		if !bytes.Equal(key, keys[r.w.rng.IntN(len(keys))]) || r.w.conflicting(key) {
			continue
		}
		point, _ := schema.FloatPoint(raceOffset+uint32(r.w.rng.IntN(1000))*1000, 7.5, schema.ValuesDouble)
		r.w.append(at, point)
		r.w.raced++
	}
	return past, nil
}

// conflicting reports whether an append to a row would make older values of the TSD, at instants that
// adapters write, count as new.
func (w *world) conflicting(key []byte) bool {
	end := w.tails[string(key)]
	if end == nil {
		return false
	}
	points, _ := schema.DecodeArrivals(nil, end.value[end.from:])
	for _, p := range points {
		if p.Offset < raceOffset {
			return true
		}
	}
	return false
}

// checkAppended checks that every row with points has an append cell.
func (w *world) checkAppended() {
	w.t.Helper()
	rows, err := w.db.Get(w.t.Context(), "tsdb", "t", w.keys)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		if !slices.ContainsFunc(row.Cells, func(c kv.Cell) bool { return schema.ClassifyCell(c.Qualifier) == schema.CellAppend }) {
			w.t.Fatalf("row %x has no append cell: %v", row.Key, row.Cells)
		}
	}
}
