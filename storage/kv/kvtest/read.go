package kvtest

import (
	"bytes"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

func testGet(s *suite) {
	s.apply(s.puts("b", "q2", "2", "q1", "1", "q", "0"), s.puts("a", "x", "y"))
	s.want(s.get("b", "missing", "a", "b", "a\x00", ""),
		s.row("b", "q", "0", "q1", "1", "q2", "2"),
		s.row("missing"),
		s.row("a", "x", "y"),
		s.row("b", "q", "0", "q1", "1", "q2", "2"), // a key asked for twice is answered twice
		s.row("a\x00"),
		s.row(""))
	s.want(s.get())
	if err := s.kv.Apply(s.Context(), dataTable, dataFamily, nil); err != nil {
		s.Errorf("Apply of nothing: %v", err)
	}
}

func testFamilies(s *suite) {
	key := s.key("k")
	put := func(family, value string) {
		m := []kv.Mutation{{Key: key, Puts: []kv.Put{{Qualifier: []byte("metrics"), Value: []byte(value)}}}}
		if err := s.kv.Apply(s.Context(), uidTable, family, m); err != nil {
			s.Fatal(err)
		}
	}
	get := func(family string) []kv.Row {
		rows, err := s.kv.Get(s.Context(), uidTable, family, [][]byte{key})
		if err != nil {
			s.Fatal(err)
		}
		return rows
	}
	put("id", "1")
	s.want(get("name"), s.row("k"))
	put("name", "2")
	s.want(get("id"), s.row("k", "metrics", "1"))
	s.want(get("name"), s.row("k", "metrics", "2"))
	s.want(s.scan(kv.Scan{Table: uidTable, Family: "id", Start: key}), s.row("k", "metrics", "1"))
	if err := s.kv.Apply(s.Context(), uidTable, "id", []kv.Mutation{{Key: key, DeleteRow: true}}); err != nil {
		s.Fatal(err)
	}
	s.want(get("id"), s.row("k"))
	s.want(get("name"), s.row("k", "metrics", "2"))
	s.want(s.get("k"), s.row("k")) // another table
}

// testCopies overwrites all slices that were passed and returned: the rows stay as they are.
func testCopies(s *suite) {
	m := s.puts("k", "q", "value", "r", "other")
	s.apply(m)
	keys := [][]byte{s.key("k")}
	copy(m.Key, "zzzz")
	copy(m.Puts[0].Qualifier, "z")
	copy(m.Puts[0].Value, "zzzz")
	for range 2 {
		rows, err := s.kv.Get(s.Context(), dataTable, dataFamily, keys)
		if err != nil {
			s.Fatal(err)
		}
		rows = append(rows, s.scan(s.all())...)
		want := s.row("k", "q", "value", "r", "other")
		s.want(rows, want, want)
		for _, row := range rows {
			for _, c := range row.Cells {
				_ = append(c.Value, "grown into the next cell"...)
			}
		}
		s.want(rows, want, want)
		for _, row := range rows {
			copy(row.Key, "zzzz")
			for _, c := range row.Cells {
				copy(c.Value, "zzzz")
				copy(c.Qualifier, "z")
			}
		}
	}
	if !bytes.Equal(keys[0], s.key("k")) {
		s.Errorf("Get's rows share the keys that were asked for")
	}
}

func testValues(s *suite) {
	large := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	bytesOf := string(allBytes())
	s.apply(s.puts("values", "empty", "", "large", large, "bytes", bytesOf, bytesOf, "qualifier"))
	want := s.row("values", bytesOf, "qualifier", "bytes", bytesOf, "empty", "", "large", large)
	s.want(s.get("values"), want)
	s.want(s.scan(s.all()), want)
}

func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func testTimes(s *suite) {
	s.put("k", "first", "1")
	s.put("k", "second", "2")
	s.put("k", "again", "3")
	first, again := s.get("k")[0].Cells[1].Time, s.get("k")[0].Cells[0].Time
	if first > again {
		s.Errorf("cell written first has time %d, after %d of the one written last", first, again)
	}
	if off := time.Since(time.UnixMilli(first)).Abs(); off > time.Hour {
		s.Errorf("time %d is %v from now: not milliseconds since 1970", first, off)
	}
	s.put("k", "first", "4")
	if now := s.get("k")[0].Cells[1].Time; now < again {
		s.Errorf("replaced cell has time %d, before %d of an older one", now, again)
	}
}

// testBounds has keys that are prefixes of each other and end in the least and the greatest byte.
func testBounds(s *suite) {
	long := "a" + strings.Repeat("\xff", 10000)
	keys := []string{"a", "a\x00", "a\x00\x00", "a\x00\xff", "a\x01", "aa", "a\xff", "a\xff\x00", long, "b", "b\x00"}
	var rows []kv.Mutation
	for _, k := range keys {
		rows = append(rows, s.puts(k, "q", "v"))
	}
	s.apply(rows...)
	for _, from := range append([]string{"", "a\x00\x01", "a\xfe", "c"}, keys...) {
		for _, to := range append([]string{"", "a\x00\x01", "a\xfe", "c"}, keys...) {
			var want []string
			for _, k := range keys {
				if from <= k && k < to {
					want = append(want, k)
				}
			}
			scan := s.all()
			scan.Start, scan.Stop = s.key(from), s.key(to)
			got := s.scan(scan)
			if s.wantKeys(got, want...); s.Failed() {
				s.Fatalf("scan from %.20q to %.20q", from, to)
			}
		}
	}
}

// testWholeTable scans without bounds; it has its table for itself.
func testWholeTable(s *suite) {
	keys := []string{"\x00", "\x00\x00", "\x01", "a", "\xfe\xff", "\xff", "\xff\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}
	var rows []kv.Mutation
	for _, k := range keys {
		rows = append(rows, kv.Mutation{Key: []byte(k), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("v")}}})
	}
	whole := kv.Scan{Table: treeTable, Family: treeFamily}
	s.wantKeys(s.scan(whole))
	if err := s.kv.Apply(s.Context(), treeTable, treeFamily, rows); err != nil {
		s.Fatal(err)
	}
	s.wantKeys(s.scan(whole), keys...)
	whole.Start = []byte("a")
	s.wantKeys(s.scan(whole), keys[3:]...)
	whole.Start, whole.Stop = nil, []byte("\xff")
	s.wantKeys(s.scan(whole), keys[:5]...)
	whole.Start, whole.Stop = []byte("\xff\xff"), nil
	s.wantKeys(s.scan(whole), keys[7:]...)
}

// testProjection asks for one column, and for keys only.
func testProjection(s *suite) {
	s.apply(s.puts("1", "a", "1", "b", "2"), s.puts("2", "b", "3"), s.puts("3", "a", "4", "ab", "5"), s.puts("4", "ab", "6"))
	s.apply(s.puts("gone", "a", "7"))
	s.apply(deletes(s.key("gone"), "a"))
	s.apply(deletes(s.key("2"), "a")) // was not there
	scan := s.all()
	scan.Qualifier = []byte("a")
	s.want(s.scan(scan), s.row("1", "a", "1"), s.row("3", "a", "4"))
	scan.KeysOnly = true
	s.wantKeys(s.scan(scan), "1", "3")
	scan.Qualifier = nil
	s.wantKeys(s.scan(scan), "1", "2", "3", "4")
}

func testSince(s *suite) {
	s.apply(s.puts("mixed", "old", "1"), s.puts("old", "old", "1"))
	then := s.get("mixed")[0].Cells[0].Time
	now := then
	for range 100_000 { // until the engine's clock has moved on
		s.put("new", "new", "2")
		if now = s.get("new")[0].Cells[0].Time; now > then+1 {
			break
		}
	}
	if now <= then+1 {
		s.Fatalf("time stands still at %d", now)
	}
	s.put("mixed", "new", "3")
	// The two old rows were one Apply; an engine may still give them different times.
	then = max(then, s.get("old")[0].Cells[0].Time)
	scan := s.all()
	scan.Since = then + 1
	s.want(s.scan(scan), s.row("mixed", "new", "3"), s.row("new", "new", "2"))
	scan.KeysOnly = true
	s.wantKeys(s.scan(scan), "mixed", "new")
	scan.Qualifier = []byte("old")
	s.wantKeys(s.scan(scan))
	scan = s.all()
	scan.Since = s.get("old")[0].Cells[0].Time // the time itself is in
	scan.Qualifier = []byte("old")
	rows := s.scan(scan)
	s.want(rows[len(rows)-1:], s.row("old", "old", "1"))
	scan = s.all()
	scan.Since = s.get("mixed")[0].Cells[0].Time + time.Hour.Milliseconds()
	s.want(s.scan(scan))
}

func testLimit(s *suite) {
	s.apply(s.puts("1", "a", "1"), s.puts("2", "b", "1"), s.puts("3", "a", "1"), s.puts("4", "b", "1"))
	for limit, want := range [][]string{{"1", "2", "3", "4"}, {"1"}, {"1", "2"}, {"1", "2", "3"}, {"1", "2", "3", "4"}, {"1", "2", "3", "4"}} {
		scan := s.all()
		scan.Limit = limit
		s.wantKeys(s.scan(scan), want...)
	}
	scan := s.all()
	scan.Limit, scan.Qualifier = 2, []byte("b") // rows that are left out do not count
	s.wantKeys(s.scan(scan), "2", "4")
	scan.Limit = 1
	s.wantKeys(s.scan(scan), "2")
}
