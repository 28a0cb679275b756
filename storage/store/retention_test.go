package store_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

func openPebble(t *testing.T) *pebble.Engine {
	t.Helper()
	e, err := pebble.Open(pebble.Options{InMemory: true, Tables: storetest.Tables()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestRetention writes many hours of several metrics, runs a pass at several moments and checks
// that it deleted all hours that were over by then and no others; rows of tsdb-meta stay.
func TestRetention(t *testing.T) {
	const hours, keep = 40, 10
	for _, salt := range []int{0, 1} {
		t.Run(fmt.Sprint("salt ", salt), func(t *testing.T) {
			db := openPebble(t)
			start := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
			now := start
			s := storetest.Open(t, db, func(o *store.Options) {
				o.Retention, o.Layout = keep*time.Hour, layoutOf(salt)
				o.Now = func() time.Time { return now }
			})
			var list []storage.Series
			for m := range 300 {
				for tag := range []int{1, 1, 12}[m%3] {
					list = append(list, storetest.Series(fmt.Sprint("m", m), "host", fmt.Sprint(tag)))
				}
			}
			refs := storetest.Resolve(t, s, list...)
			rng := rand.New(rand.NewPCG(3, 4))
			var b storage.Batch
			for h := range hours {
				for _, ref := range refs {
					b.Add(ref, start.Add(time.Duration(h)*time.Hour).UnixMilli()+rng.Int64N(3600_000), 1)
				}
			}
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			for _, at := range []time.Duration{
				5 * time.Hour, 20*time.Hour - time.Millisecond, 20 * time.Hour, 20*time.Hour + 59*time.Minute, 45 * time.Hour, 1000 * time.Hour,
			} {
				now = start.Add(at)
				for range 2 {
					if err := s.DeleteOld(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				gone := min(hours, max(0, int(at/time.Hour)-keep))
				want := map[int]int{}
				for h := gone; h < hours; h++ {
					want[h] = len(refs)
				}
				if diff := cmp.Diff(want, rowsByHour(t, db, salt, start)); diff != "" {
					t.Fatalf("rows %v after the start (-want +got):\n%s", at, diff)
				}
			}
			// A late point is accepted, and the next pass deletes it.
			b.Reset()
			b.Add(refs[0], start.UnixMilli(), 1)
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			if got := rowsByHour(t, db, salt, start); got[0] != 1 {
				t.Errorf("rows after a late point: %v", got)
			}
			if err := s.DeleteOld(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := rowsByHour(t, db, salt, start); len(got) != 0 {
				t.Errorf("rows after a late point and a pass: %v", got)
			}
			meta := 0
			for _, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: "name"}) {
				if meta++; err != nil {
					t.Fatal(err)
				}
			}
			if meta != len(refs) {
				t.Errorf("%d rows of tsdb-meta, want %d", meta, len(refs))
			}
		})
	}
}

func rowsByHour(t *testing.T, db kv.KV, salt int, start time.Time) map[int]int {
	t.Helper()
	counts := map[int]int{}
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		key, err := layoutOf(salt).ParseRowKey(row.Key)
		if err != nil {
			t.Fatal(err)
		}
		counts[int(time.Unix(int64(key.Base), 0).Sub(start)/time.Hour)]++
	}
	return counts
}

// rangeMem is a table in memory that deletes ranges row by row, and fails on demand.
type rangeMem struct {
	*kv.Mem
	fails int
}

func (m *rangeMem) DeleteRange(ctx context.Context, table string, ranges ...kv.KeyRange) (held int, err error) {
	if m.fails > 0 {
		m.fails--
		return 0, fmt.Errorf("not now")
	}
	for _, r := range ranges {
		var rows []kv.Mutation
		for row, err := range m.Scan(ctx, kv.Scan{Table: table, Family: "t", Start: r.From, Stop: r.To}) {
			if err != nil {
				return held, err
			}
			rows = append(rows, kv.Mutation{Key: row.Key, DeleteRow: true})
		}
		if held++; len(rows) > 0 {
			if err := m.Apply(ctx, table, "t", rows); err != nil {
				return held, err
			}
		}
	}
	return held, nil
}

// TestRetentionRuns: a pass runs at the start, again soon after one that failed, and once an hour.
func TestRetentionRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &rangeMem{Mem: kv.NewMem(storetest.Tables()...), fails: 1}
		begin := time.Now().Truncate(time.Hour)
		var rows []kv.Mutation
		l := schema.DefaultLayout()
		for h := range 5 {
			base := uint32(begin.Add(time.Duration(h-3) * time.Hour).Unix())
			rows = append(rows, kv.Mutation{Key: l.AppendRowKey(nil, []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, base), Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}})
		}
		if err := db.Apply(t.Context(), "tsdb", "t", rows); err != nil {
			t.Fatal(err)
		}
		left := func() (n int) {
			for _, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
				if n++; err != nil {
					t.Fatal(err)
				}
			}
			return n
		}
		storetest.Open(t, db, func(o *store.Options) { o.Retention = time.Hour })
		synctest.Wait()
		if n := left(); n != 5 {
			t.Errorf("%d rows after a pass that failed, want 5", n)
		}
		// hours -3 and -2 are over for an hour at the start
		for i, want := range []int{3, 2, 1, 0, 0} {
			time.Sleep([]time.Duration{time.Minute, time.Hour}[min(i, 1)] + time.Second)
			synctest.Wait()
			if n := left(); n != want {
				t.Errorf("%d rows after pass %d, want %d", n, i+1, want)
			}
		}
	})
}

func TestRetentionRefused(t *testing.T) {
	o := store.DefaultOptions()
	o.Retention = 24 * time.Hour
	if _, err := store.New(kv.NewMem(storetest.Tables()...), o); err == nil || !strings.Contains(err.Error(), "--storage.retention") {
		t.Errorf("New on an engine that cannot: %v", err)
	}
	for _, bad := range []time.Duration{-1, time.Minute} {
		o.Retention = bad
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--storage.retention=") {
			t.Errorf("Validate with %v: %v", bad, err)
		}
	}
}

// TestRetentionPassesStrangeKeys: a pass neither stops at keys that no version of OpenTSDB makes,
// nor deletes them.
func TestRetentionPassesStrangeKeys(t *testing.T) {
	db := openPebble(t)
	old := schema.DefaultLayout().AppendRowKey(nil, []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, 3600)
	last := schema.DefaultLayout().AppendRowKey(nil, bytes.Repeat([]byte{0xff}, 9), 3600)
	var rows []kv.Mutation
	for _, key := range [][]byte{{0}, {0, 0, 1}, {0, 0, 1, 0, 0}, old, last} {
		rows = append(rows, kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{1}}}})
	}
	if err := db.Apply(t.Context(), "tsdb", "t", rows); err != nil {
		t.Fatal(err)
	}
	s := storetest.Open(t, db, func(o *store.Options) { o.Retention = time.Hour })
	if err := s.DeleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left [][]byte
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, row.Key)
	}
	if diff := cmp.Diff([][]byte{{0}, {0, 0, 1}, {0, 0, 1, 0, 0}}, left); diff != "" {
		t.Errorf("keys left (-want +got):\n%s", diff)
	}
}

func layoutOf(salt int) schema.Layout {
	l := schema.DefaultLayout()
	l.SaltWidth, l.SaltBuckets = salt, 7
	return l
}
