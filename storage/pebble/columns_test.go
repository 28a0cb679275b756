package pebble

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// dataCell returns the cell of so many points from a place in the hour on.
func dataCell(from, count int, value float64) kv.Put {
	var points []schema.Point
	for i := range count {
		p, _ := schema.FloatPoint(uint32(from+i)*15_000, value+float64(i), schema.ValuesAuto)
		points = append(points, p)
	}
	q, v := schema.AppendCell(nil, nil, points)
	return kv.Put{Qualifier: q, Value: v}
}

// codedRecord returns the record of a cell that Apply codes.
func codedRecord(t testing.TB, time int64) record {
	t.Helper()
	p := dataCell(0, 40, 1)
	r := new(coder).put(&p, time)
	if r.coded == nil {
		t.Fatalf("%x is not coded", p.Qualifier)
	}
	return r
}

// randomCellChange changes a row with cells of points. Some are coded, some are not, and some begin
// with the same bytes.
func randomCellChange(rng *rand.Rand, key string) kv.Mutation {
	m := kv.Mutation{Key: []byte(key)}
	if rng.IntN(20) == 0 {
		m.DeleteRow = true
		return m
	}
	taken := map[string]bool{}
	for range 1 + rng.IntN(3) {
		p := dataCell(rng.IntN(3)*20, 1+rng.IntN(2)*rng.IntN(40), float64(rng.IntN(1000)))
		switch rng.IntN(12) {
		case 0:
			p.Value = append(p.Value, 0) // not a cell of points
		case 1:
			p.Qualifier = []byte("other")
		}
		if taken[string(p.Qualifier)] {
			continue
		}
		taken[string(p.Qualifier)] = true
		if rng.IntN(4) == 0 {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: p.Qualifier})
		} else {
			m.Puts = append(m.Puts, p)
		}
	}
	return m
}

// TestCodedCells makes the same changes to the engine and to memory, and compares all that can be
// read, in memory tables and in files.
func TestCodedCells(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	tables := []kv.Table{{Name: "t", Families: []string{"f"}}}
	e, model := opened(t, Options{Path: t.TempDir(), Tables: tables}), kv.NewMem(tables...)
	for round := range 60 {
		var change []kv.Mutation
		for row := range 10 {
			if rng.IntN(2) == 0 {
				change = append(change, randomCellChange(rng, fmt.Sprint("row ", row)))
			}
		}
		for _, to := range []kv.KV{e, model} {
			apply(t, to, "f", change)
		}
		switch round % 6 {
		case 2:
			e.mustFlush(t)
		case 5:
			if err := e.Compact(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
		sameRows(t, e, model, kv.Scan{})
		sameRows(t, e, model, kv.Scan{Qualifier: dataCell(0, 1, 0).Qualifier})
		sameRows(t, e, model, kv.Scan{Qualifier: dataCell(20, 1+rng.IntN(40), 0).Qualifier})
		sameRows(t, e, model, kv.Scan{Qualifier: dataCell(20, 1+rng.IntN(40), 0).Qualifier, KeysOnly: true})
	}
	if coded := codedCells(t, e); coded < 10 {
		t.Errorf("%d cells are coded", coded)
	}
}

func sameRows(t *testing.T, e, model kv.KV, s kv.Scan) {
	t.Helper()
	s.Table, s.Family = "t", "f"
	read := func(from kv.KV) (all []kv.Row) {
		for row, err := range from.Scan(t.Context(), s) {
			if err != nil {
				t.Fatal(err)
			}
			if s.KeysOnly {
				row.Cells = nil
			}
			all = append(all, row)
		}
		return all
	}
	options := cmp.Options{cmp.Comparer(bytes.Equal), cmpopts.IgnoreFields(kv.Cell{}, "Time"), cmpopts.EquateEmpty()}
	want, got := read(model), read(e)
	if diff := cmp.Diff(want, got, options); diff != "" {
		t.Fatalf("rows by %x differ (-want +got):\n%s", s.Qualifier, diff)
	}
	var keys [][]byte
	for _, row := range want {
		keys = append(keys, row.Key)
	}
	if len(s.Qualifier) > 0 {
		return
	}
	rows, err := e.Get(t.Context(), "t", "f", keys)
	if diff := cmp.Diff(want, rows, options); diff != "" || err != nil {
		t.Fatalf("%v; rows by key differ (-want +got):\n%s", err, diff)
	}
}

// codedCells counts the cells that are kept coded.
func codedCells(t *testing.T, e *Engine) (n int) {
	t.Helper()
	it, err := e.db().NewIter(&pebble.IterOptions{LowerBound: []byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		r, err := parseRow(it.Value())
		if err != nil {
			t.Fatal(err)
		}
		for {
			var rec record
			more, err := r.next(&rec)
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
			if rec.coded != nil {
				n++
			}
		}
	}
	return n
}

// TestCodedCellsAreFolded: folding moves a coded cell unchanged.
func TestCodedCellsAreFolded(t *testing.T) {
	r := codedRecord(t, 5)
	row := folded(t, [][]byte{appendRow(nil, []record{r}, 5), appendRow(nil, []record{{qualifier: []byte("z"), time: 9}}, 9)}, true, true)
	if !bytes.Contains(row, r.coded) {
		t.Errorf("row %x lacks the cell %x", row, r.coded)
	}
	if len(row) > len(r.coded)+16 {
		t.Errorf("row of %d bytes for a cell of %d", len(row), len(r.coded))
	}
}

// TestFormat1 opens a store whose rows have the first format, reads and changes them, and converts
// it to the present format.
func TestFormat1(t *testing.T) {
	o := Options{Path: t.TempDir(), Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e := opened(t, o)
	points := dataCell(0, 3, 7)
	at := func(key string) []byte { return rowKey(1, []byte(key)) }
	old := func(kind byte, records ...string) []byte {
		row := []byte{kind, byte(len(records)), 100}
		for _, r := range records {
			row = append(row, r...)
		}
		return row
	}
	put := func(qualifier, value string) string {
		return string([]byte{byte(len(qualifier) * 2)}) + qualifier + string([]byte{1, byte(len(value))}) + value
	}
	for _, err := range []error{
		e.db().Merge(at("a"), old(kindOldCells, put("q", "v"), put("r", "w")), nil),
		e.db().Merge(at("a"), old(kindOldChanges, "\x03q"), nil),
		e.db().Set(at("b"), old(kindOldCells, put(string(points.Qualifier), string(points.Value))), nil),
		e.db().Set(formatKey(), []byte{1}, nil),
		e.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	e = opened(t, o)
	if format, _, err := readNumber(e.db(), formatKey()); format != formatVersion || err != nil {
		t.Errorf("format after opening: %d, %v", format, err)
	}
	apply(t, e, "f", []kv.Mutation{{Key: []byte("a"), Puts: []kv.Put{{Qualifier: []byte("s"), Value: []byte("x")}}}})
	unsettled(t, e, func(where string) {
		t.Run(where, func(t *testing.T) {
			wantLines(t, scanned(t, e, kv.Scan{}), "a: r=w s=x", fmt.Sprintf("b: %s=%s", points.Qualifier, points.Value))
		})
	})
}
