package pebble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Rows that are put coded are those that Apply makes of their cells, also over cells that are there
// and under deletes and puts that follow, in memory and in files.
func TestApplyCodedIsApply(t *testing.T) {
	ctx := t.Context()
	table := kvtest.Tables()[0]
	name, family := table.Name, table.Families[0]
	byCell := opened(t, Options{Path: t.TempDir(), Tables: kvtest.Tables()})
	coded := opened(t, Options{Path: t.TempDir(), Tables: kvtest.Tables()})
	rng := rand.New(rand.NewPCG(5, 6))
	var encoder columns.Encoder
	var keys [][]byte
	for i := range 40 {
		keys = append(keys, fmt.Appendf(nil, "key %02d", i))
	}
	for step := range 60 {
		var mutations, others []kv.Mutation
		var rows []kv.CodedRow
		for _, key := range keys {
			switch rng.IntN(4) {
			case 0:
				m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{0x82, byte(rng.IntN(3)), 0}, Value: []byte("object")}}}
				if rng.IntN(3) == 0 {
					m = kv.Mutation{Key: key, DeleteRow: true}
				}
				others = append(others, m)
			case 1, 2:
				var times []int64
				var values []float64
				var points []schema.Point
				at := rng.Int64N(3) * 15_000 // sometimes the qualifier of a cell that is there
				for range 2 + rng.IntN(50) {
					v := float64(rng.IntN(9))
					p, _ := schema.FloatPoint(uint32(at), v, schema.ValuesAuto)
					times, values, points = append(times, at), append(values, v), append(points, p)
					at += 15_000
				}
				cell, ok := encoder.AppendFloats(nil, times, values, 0, schema.ValuesAuto)
				if !ok {
					continue
				}
				q, v := schema.AppendCell(nil, nil, points)
				rows = append(rows, kv.CodedRow{Key: key, Cell: cell})
				mutations = append(mutations, kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: q, Value: v}}})
			}
		}
		err := errors.Join(
			byCell.ApplyUnlogged(ctx, name, family, mutations), coded.ApplyCoded(ctx, name, family, rows),
			byCell.Apply(ctx, name, family, others), coded.Apply(ctx, name, family, others),
		)
		if step%20 == 19 {
			err = errors.Join(err, byCell.Compact(ctx, name), coded.Compact(ctx, name))
		}
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(cells(t, byCell, name, family, keys), cells(t, coded, name, family, keys)); d != "" {
			t.Fatalf("step %d, -by cell +coded:\n%s", step, d)
		}
	}
}

// cells reads rows without the times of their cells.
func cells(t *testing.T, e *Engine, table, family string, keys [][]byte) []kv.Row {
	t.Helper()
	rows, err := e.Get(t.Context(), table, family, keys)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		for n := range rows[i].Cells {
			rows[i].Cells[n].Time = 0
		}
	}
	return rows
}

// ApplyCoded refuses what breaks its contract, and writes nothing of it.
func TestApplyCodedRefuses(t *testing.T) {
	table := kvtest.Tables()[0]
	e := opened(t, Options{InMemory: true, Tables: kvtest.Tables()})
	cell, _ := new(columns.Encoder).AppendFloats(nil, []int64{0, 1000, 2000}, []float64{1, 2, 3}, 0, schema.ValuesAuto)
	good := kv.CodedRow{Key: []byte("k"), Cell: cell}
	for name, rows := range map[string][]kv.CodedRow{
		"a key twice": {good, good}, "no key": {good, {Cell: cell}}, "no cell": {good, {Key: []byte("l")}},
	} {
		if err := e.ApplyCoded(t.Context(), table.Name, table.Families[0], rows); !errors.Is(err, kv.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := e.ApplyCoded(t.Context(), "missing", table.Families[0], []kv.CodedRow{good}); !errors.Is(err, kv.ErrNoTable) {
		t.Errorf("a table that is missing: %v", err)
	}
	if rows := cells(t, e, table.Name, table.Families[0], [][]byte{good.Key}); len(rows[0].Cells) > 0 {
		t.Errorf("%v was written", rows)
	}
}
