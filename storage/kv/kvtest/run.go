// Package kvtest is the table contract of storage/kv as tests: Run tests an engine against every
// sentence of it, and Faulty makes an engine fail on demand. It knows no engine.
package kvtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// The tables that Run works on.
const (
	// keys begin with the name of the test; from e0 on for matches.
	dataTable, dataFamily = "tsdb", "t"
	uidTable              = "tsdb-uid"       // families id and name, which must not see each other
	treeTable, treeFamily = "tsdb-tree", "t" // scanned as a whole by one test
)

// Tables returns the tables that open must have made.
func Tables() []kv.Table {
	return []kv.Table{
		{Name: dataTable, Families: []string{dataFamily}},
		{Name: uidTable, Families: []string{"id", "name"}},
		{Name: "tsdb-meta", Families: []string{"name"}},
		{Name: treeTable, Families: []string{treeFamily}},
	}
}

// Run tests an engine against the contract. It opens it once, with empty Tables; open must also
// close it. It takes seconds on a local engine, a minute or two on a cluster.
func Run(t *testing.T, open func(t *testing.T) kv.KV) {
	engine := open(t)
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"get", testGet},
		{"families", testFamilies},
		{"copies", testCopies},
		{"values", testValues},
		{"times", testTimes},
		{"bounds", testBounds},
		{"whole_table", testWholeTable},
		{"projection", testProjection},
		{"since", testSince},
		{"limit", testLimit},
		{"leave_early", testLeaveEarly},
		{"inside_scan", testInsideScan},
		{"many_rows", testManyRows},
		{"wide_row", testWideRow},
		{"cancelled", testCancelled},
		{"match", testMatch},
		{"replace", testReplace},
		{"delete", testDelete},
		{"put_after_delete", testPutAfterDelete},
		{"stamps", testStamps},
		{"invalid", testInvalid},
		{"no_table", testNoTable},
		{"atomic", testAtomic},
		{"increment", testIncrement},
		{"increment_race", testIncrementRace},
		{"check_and_put", testCheckAndPut},
		{"check_and_put_race", testCheckAndPutRace},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&suite{T: t, kv: engine, name: test.name})
		})
	}
}

// suite is one test, with shorthands for all tests. Its keys begin with its name.
type suite struct {
	*testing.T
	kv   kv.KV
	name string
}

func (s *suite) key(k string) []byte { return []byte(s.name + "/" + k) }

// all returns a scan of the test's own rows.
func (s *suite) all() kv.Scan {
	// 0 follows /
	return kv.Scan{Table: dataTable, Family: dataFamily, Start: s.key(""), Stop: []byte(s.name + "0")}
}

func (s *suite) cell(key, qualifier string) kv.Column {
	return kv.Column{Table: dataTable, Family: dataFamily, Row: s.key(key), Qualifier: []byte(qualifier)}
}

func (s *suite) apply(rows ...kv.Mutation) {
	s.Helper()
	if err := s.kv.Apply(s.Context(), dataTable, dataFamily, rows); err != nil {
		s.Fatal(err)
	}
}

// put writes cells, qualifier and value in turn, into one row.
func (s *suite) put(key string, cells ...string) {
	s.Helper()
	s.apply(s.puts(key, cells...))
}

func (s *suite) puts(key string, cells ...string) kv.Mutation {
	m := kv.Mutation{Key: s.key(key)}
	for i := 0; i < len(cells); i += 2 {
		m.Puts = append(m.Puts, kv.Put{Qualifier: []byte(cells[i]), Value: []byte(cells[i+1])})
	}
	return m
}

func (s *suite) get(keys ...string) []kv.Row {
	s.Helper()
	var raw [][]byte
	for _, k := range keys {
		raw = append(raw, s.key(k))
	}
	rows, err := s.kv.Get(s.Context(), dataTable, dataFamily, raw)
	if err != nil {
		s.Fatal(err)
	}
	return rows
}

func (s *suite) scan(scan kv.Scan) []kv.Row {
	s.Helper()
	rows, err := collect(s.Context(), s.kv, scan)
	if err != nil {
		s.Fatal(err)
	}
	return rows
}

// collect runs a scan to its end and checks that it ends as the contract requires.
func collect(ctx context.Context, engine kv.KV, scan kv.Scan) ([]kv.Row, error) {
	var rows []kv.Row
	var failed error
	for row, err := range engine.Scan(ctx, scan) {
		switch {
		case failed != nil:
			return nil, fmt.Errorf("scan went on after error %w", failed)
		case err != nil:
			failed = err
		case len(rows) > 0 && bytes.Compare(rows[len(rows)-1].Key, row.Key) >= 0:
			return nil, fmt.Errorf("scan gave row %x after %x", row.Key, rows[len(rows)-1].Key)
		default:
			rows = append(rows, row)
		}
	}
	return rows, failed
}

// row returns what a test expects of a row: the key as in put, then qualifier and value in turn.
func (s *suite) row(key string, cells ...string) kv.Row {
	row := kv.Row{Key: s.key(key)}
	for i := 0; i < len(cells); i += 2 {
		row.Cells = append(row.Cells, kv.Cell{Qualifier: []byte(cells[i]), Value: []byte(cells[i+1])})
	}
	return row
}

// want compares rows without the times of their cells.
func (s *suite) want(got []kv.Row, want ...kv.Row) {
	s.Helper()
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		s.Errorf("rows differ (-want +got):\n%s", diff)
	}
}

// texts describes rows in lines that are short enough to compare and to read.
func texts(rows []kv.Row) []string {
	all := []string{}
	for _, row := range rows {
		all = append(all, "row "+text(row.Key))
		for _, c := range row.Cells {
			all = append(all, "  "+text(c.Qualifier)+" = "+text(c.Value))
		}
	}
	return all
}

func text(b []byte) string {
	if len(b) <= 40 {
		return strconv.Quote(string(b))
	}
	return fmt.Sprintf("%q… %d bytes, sha256 %x", b[:20], len(b), sha256.Sum256(b))
}

// wantKeys compares the keys of rows.
func (s *suite) wantKeys(got []kv.Row, want ...string) {
	s.Helper()
	var keys []string
	for _, row := range got {
		keys = append(keys, string(bytes.TrimPrefix(row.Key, s.key(""))))
	}
	if diff := cmp.Diff(want, keys, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("keys differ (-want +got):\n%s", diff)
	}
}
