package kvtest

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

func deletes(key []byte, qualifiers ...string) kv.Mutation {
	m := kv.Mutation{Key: key}
	for _, q := range qualifiers {
		m.Deletes = append(m.Deletes, kv.Delete{Qualifier: []byte(q)})
	}
	return m
}

func testReplace(s *suite) {
	s.put("k", "a", "1", "b", "2")
	s.put("k", "a", "a longer value", "c", "3")
	s.want(s.get("k"), s.row("k", "a", "a longer value", "b", "2", "c", "3"))
	s.put("k", "a", "")
	s.want(s.get("k"), s.row("k", "a", "", "b", "2", "c", "3"))
	for i := range 20 { // faster than a clock of milliseconds
		s.put("fast", "q", fmt.Sprint(i))
		s.want(s.get("fast"), s.row("fast", "q", fmt.Sprint(i)))
	}
}

func testDelete(s *suite) {
	s.apply(s.puts("1", "a", "1", "b", "2", "c", "3"), s.puts("2", "a", "1"), s.puts("3", "a", "1", "b", "2"))
	both := s.puts("1", "d", "4")
	both.Deletes = deletes(nil, "b", "missing").Deletes
	s.apply(both,
		deletes(s.key("2"), "a"),
		kv.Mutation{Key: s.key("3"), DeleteRow: true},
		deletes(s.key("missing"), "a"),
		kv.Mutation{Key: s.key("missing too"), DeleteRow: true})
	s.want(s.get("1", "2", "3", "missing"), s.row("1", "a", "1", "c", "3", "d", "4"), s.row("2"), s.row("3"), s.row("missing"))
	// a row without cells does not exist
	s.want(s.scan(s.all()), s.row("1", "a", "1", "c", "3", "d", "4"))
	keysOnly := s.all()
	keysOnly.KeysOnly = true
	s.wantKeys(s.scan(keysOnly), "1")
}

// testPutAfterDelete: in HBase a deletion hides what is put in the same millisecond, even after it.
func testPutAfterDelete(s *suite) {
	for i := range 20 {
		value := fmt.Sprint(i)
		s.put("cell", "q", value, "r", "stays")
		s.apply(deletes(s.key("cell"), "q"))
		s.want(s.get("cell"), s.row("cell", "r", "stays"))
		s.put("cell", "q", "again"+value)
		s.want(s.get("cell"), s.row("cell", "q", "again"+value, "r", "stays"))

		s.put("row", "q", value, "r", value)
		s.apply(kv.Mutation{Key: s.key("row"), DeleteRow: true})
		s.want(s.get("row"), s.row("row"))
		s.put("row", "q", "again"+value)
		s.want(s.get("row"), s.row("row", "q", "again"+value)) // and r is not back
	}
}

func testInvalid(s *suite) {
	put := []kv.Put{{Qualifier: []byte("q"), Value: []byte("v")}}
	q := []kv.Delete{{Qualifier: []byte("q")}}
	for name, rows := range map[string][]kv.Mutation{
		"empty key":          {{Puts: put}},
		"empty key, deleted": {{DeleteRow: true}},
		"put and deleted":    {{Key: s.key("k"), Puts: put, Deletes: q}},
		"put and all gone":   {{Key: s.key("k"), Puts: put, DeleteRow: true}},
		"all gone and more":  {{Key: s.key("k"), Deletes: q, DeleteRow: true}},
		"stamp below 0":      {{Key: s.key("k"), Puts: []kv.Put{{Time: -1}}}},
		"stamp of no time":   {{Key: s.key("k"), Deletes: []kv.Delete{{Time: math.MaxInt64}}}},
		"row's stamp":        {{Key: s.key("k"), DeleteRow: true, RowTime: -1}},
		"key twice":          {{Key: s.key("k"), Puts: put}, {Key: s.key("l"), Puts: put}, {Key: s.key("k"), Deletes: q}},
	} {
		if err := s.kv.Apply(s.Context(), dataTable, dataFamily, rows); !errors.Is(err, kv.ErrInvalid) {
			s.Errorf("Apply with %s: %v, want %v", name, err, kv.ErrInvalid)
		}
	}
}

func testNoTable(s *suite) {
	for _, name := range [][2]string{{"no-such-table", dataFamily}, {dataTable, "x"}} {
		table, family := name[0], name[1]
		c := kv.Column{Table: table, Family: family, Row: []byte("k"), Qualifier: []byte("q")}
		_, getErr := s.kv.Get(s.Context(), table, family, [][]byte{[]byte("k")})
		_, scanErr := collect(s.Context(), s.kv, kv.Scan{Table: table, Family: family})
		_, incrementErr := s.kv.Increment(s.Context(), c, 1)
		_, casErr := s.kv.CheckAndPut(s.Context(), c, nil, []byte("v"))
		for method, err := range map[string]error{
			"Get": getErr, "Scan": scanErr, "Increment": incrementErr, "CheckAndPut": casErr,
			"Apply": s.kv.Apply(s.Context(), table, family, []kv.Mutation{s.puts("k", "q", "v")}),
		} {
			if !errors.Is(err, kv.ErrNoTable) {
				s.Errorf("%s of %s:%s: %v, want %v", method, table, family, err, kv.ErrNoTable)
			}
		}
	}
}

// testAtomic changes a row back and forth between two states that share no cell; readers must see
// one of the two.
func testAtomic(s *suite) {
	const turns = 200
	form := func(n int) kv.Mutation {
		if n%2 == 0 {
			m := s.puts("k", "a", fmt.Sprint(n), "b", fmt.Sprint(n))
			m.Deletes = deletes(nil, "c", "d").Deletes
			return m
		}
		m := s.puts("k", "c", fmt.Sprint(n), "d", fmt.Sprint(n))
		m.Deletes = deletes(nil, "a", "b").Deletes
		return m
	}
	s.apply(form(0))
	done := make(chan struct{})
	g, ctx := errgroup.WithContext(s.Context())
	g.Go(func() error {
		defer close(done)
		for n := 1; n <= turns; n++ {
			if err := s.kv.Apply(ctx, dataTable, dataFamily, []kv.Mutation{form(n), s.puts("l", "q", fmt.Sprint(n))}); err != nil {
				return err
			}
		}
		return nil
	})
	whole := func(row kv.Row) error {
		var b strings.Builder
		for _, c := range row.Cells {
			fmt.Fprintf(&b, "%s=%s ", c.Qualifier, c.Value)
		}
		if len(row.Cells) != 2 || string(row.Cells[0].Value) != string(row.Cells[1].Value) {
			return fmt.Errorf("half a change: %s", b.String())
		}
		return nil
	}
	until := func(look func() error) func() error {
		return func() error {
			for {
				if err := look(); err != nil {
					return err
				}
				select {
				case <-done:
					return nil
				default:
				}
			}
		}
	}
	g.Go(until(func() error {
		rows, err := s.kv.Get(ctx, dataTable, dataFamily, [][]byte{s.key("k")})
		if err != nil {
			return err
		}
		return whole(rows[0])
	}))
	g.Go(until(func() error {
		rows, err := collect(ctx, s.kv, s.all())
		if err != nil {
			return err
		}
		return whole(rows[0])
	}))
	if err := g.Wait(); err != nil {
		s.Error(err)
	}
}
