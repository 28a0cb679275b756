package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

func testLeaveEarly(s *suite) {
	s.numbered(100, "v")
	for n := range 50 {
		for _, err := range s.kv.Scan(s.Context(), s.all()) {
			if err != nil {
				s.Fatal(err)
			}
			if n--; n < 0 {
				break
			}
		}
	}
	s.put("0000", "q", "changed") // nothing holds the row
	s.want(s.get("0000"), s.row("0000", "q", "changed"))
}

// testInsideScan calls the engine from the body of a scan's loop.
func testInsideScan(s *suite) {
	s.numbered(20, "v")
	scan := s.all()
	scan.Stop = s.key("0020")
	seen := 0
	for row, err := range s.kv.Scan(s.Context(), scan) {
		if err != nil {
			s.Fatal(err)
		}
		key := string(row.Key[len(s.key("")):])
		s.want(s.get(key), s.row(key, "q", "v"))
		s.put("x"+key, "q", "copy")
		if _, err := s.kv.Increment(s.Context(), s.cell("y", "n"), 1); err != nil {
			s.Fatal(err)
		}
		seen++
	}
	if seen != 20 {
		s.Errorf("scan gave %d rows, want 20", seen)
	}
}

// numbered writes n rows 0000, 0001, … of one cell q.
func (s *suite) numbered(n int, value string) {
	s.Helper()
	for from := 0; from < n; from += 1000 {
		var rows []kv.Mutation
		for i := from; i < min(n, from+1000); i++ {
			rows = append(rows, s.puts(fmt.Sprintf("%04d", i), "q", value))
		}
		s.apply(rows...)
	}
}

func testManyRows(s *suite) {
	const n = 5000
	s.numbered(n, strings.Repeat("v", 100))
	rows := s.scan(s.all())
	if len(rows) != n {
		s.Fatalf("scan gave %d rows, want %d", len(rows), n)
	}
	var keys []string
	for i := n - 1; i >= 0; i-- {
		keys = append(keys, fmt.Sprintf("%04d", i))
	}
	for i, row := range s.get(keys...) {
		if string(row.Key) != string(s.key(keys[i])) || len(row.Cells) != 1 {
			s.Fatalf("answer %d is %q with %d cells, want %q with 1", i, row.Key, len(row.Cells), keys[i])
		}
	}
}

// testWideRow has a row with more cells than any engine returns in one piece.
func testWideRow(s *suite) {
	const n = 5000
	var cells []string
	for i := range n {
		cells = append(cells, fmt.Sprintf("%04d", i), "v")
	}
	s.apply(s.puts("a", "q", "v"), s.puts("wide", cells...), s.puts("x", "q", "v"))
	s.want(s.scan(s.all()), s.row("a", "q", "v"), s.row("wide", cells...), s.row("x", "q", "v"))
	s.want(s.get("wide"), s.row("wide", cells...))
	scan := s.all()
	scan.Qualifier = []byte("4999")
	s.want(s.scan(scan), s.row("wide", "4999", "v"))
	scan = s.all()
	scan.Limit = 2
	s.want(s.scan(scan), s.row("a", "q", "v"), s.row("wide", cells...))
	scan.KeysOnly = true
	s.wantKeys(s.scan(scan), "a", "wide")
}

func testCancelled(s *suite) {
	const n = 5000
	s.numbered(n, strings.Repeat("v", 1000))
	gone, cancel := context.WithCancel(s.Context())
	cancel()
	check := func(what string, err error) {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s with a cancelled context: %v, want %v", what, err, context.Canceled)
		}
	}
	_, err := s.kv.Get(gone, dataTable, dataFamily, [][]byte{s.key("0000")})
	check("Get", err)
	check("Apply", s.kv.Apply(gone, dataTable, dataFamily, []kv.Mutation{s.puts("x", "q", "v")}))
	_, err = s.kv.Increment(gone, s.cell("y", "n"), 1)
	check("Increment", err)
	_, err = s.kv.CheckAndPut(gone, s.cell("z", "n"), nil, []byte("v"))
	check("CheckAndPut", err)
	_, err = collect(gone, s.kv, s.all())
	check("Scan", err)
	s.cancelInside(n)
}

// cancelInside cancels a scan at its first row. The engine may still return rows that it already
// has, but must not end without an error.
func (s *suite) cancelInside(n int) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	rows, failed := 0, false
	for _, err := range s.kv.Scan(ctx, s.all()) {
		cancel()
		switch {
		case failed:
			s.Fatal("scan went on after its error")
		case err != nil:
			if failed = true; !errors.Is(err, context.Canceled) {
				s.Errorf("scan cancelled inside: %v, want %v", err, context.Canceled)
			}
		default:
			rows++
		}
	}
	if !failed && rows != n {
		s.Errorf("scan cancelled inside ended with %d of %d rows and no error", rows, n)
	}
}
