package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const renamedHour = int64(1356998400000)

// write appends a point whose value is its number in seconds.
func writeAt(t *testing.T, s *store.Store, one storage.Series, n int) {
	t.Helper()
	var b storage.Batch
	b.Add(storetest.Resolve(t, s, one)[0], renamedHour+int64(n)*1000, float64(n))
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// contents are the values of all series, by their names.
func contents(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	found, err := s.Find(t.Context(), []storage.Filter{{Match: func(string) bool { return true }}}, 0, storage.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range found {
		var values []string
		for points, err := range s.Select(t.Context(), storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Samples: true}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range points.Values {
				values = append(values, fmt.Sprint(value))
			}
		}
		all[f.String()] = strings.Join(values, " ")
	}
	return all
}

func checkContents(t *testing.T, what string, s *store.Store, want map[string]string) {
	t.Helper()
	got := contents(t, s)
	for name, values := range want {
		if got[name] != values {
			t.Errorf("%s: %s has %q, want %q", what, name, got[name], values)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: series %v, want %v", what, got, want)
	}
}

// renamedSeries is the series m{host=a} with one name of a kind in place of its own.
func renamedSeries(kind storage.NameKind, name string) storage.Series {
	return map[storage.NameKind]storage.Series{
		storage.MetricName: storetest.Series(name, "host", "a"), storage.TagKeyName: storetest.Series("m", name, "a"), storage.TagValueName: storetest.Series("m", "host", name),
	}[kind]
}

// A name is renamed while the log has points of its series that are not in the table. After a kill, or a
// power failure, all points have the new name, and the old name is that of another series.
func TestRenameKeepsLog(t *testing.T) {
	for kind, from := range map[storage.NameKind]string{storage.MetricName: "m", storage.TagKeyName: "host", storage.TagValueName: "a"} {
		for _, end := range []string{"no end", "kill", "power failure"} {
			what := fmt.Sprint(kind, ", ", end)
			db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
			never := func(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 }
			p := storetest.StartBuffered(t, db, disk, never)
			writeAt(t, p.Store, storetest.Series("m", "host", "a"), 1)
			if err := p.Rename(t.Context(), kind, from, "new"); err != nil {
				t.Fatal(what, err)
			}
			writeAt(t, p.Store, renamedSeries(kind, "new"), 2)
			writeAt(t, p.Store, storetest.Series("m", "host", "a"), 3)
			switch end {
			case "kill":
				p.Stop()
				p = storetest.StartBuffered(t, db, disk.Kill(1), never)
			case "power failure":
				p.Stop()
				p = storetest.StartBuffered(t, db, disk.Crash(1), never)
			}
			want := map[string]string{renamedSeries(kind, "new").String(): "1 2", "m{host=a}": "3"}
			checkContents(t, what, p.Store, want)
			if err := p.FlushAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkContents(t, what+", flushed", p.Store, want)
		}
	}
}

// Each change of a rename fails in turn. Then a new process makes the same rename: it finishes, and no
// point is lost.
func TestRenameAfterCrash(t *testing.T) {
	for _, method := range []kvtest.Method{kvtest.CheckAndPut, kvtest.Apply} {
		for nth := 1; nth <= 2; nth++ {
			for _, when := range []kvtest.When{kvtest.Before, kvtest.After} {
				what := fmt.Sprintf("%s %d fails %s", method, nth, when)
				db := kv.NewMem(storetest.Tables()...)
				faulty := kvtest.New(db)
				p := storetest.Start(t, faulty)
				writeAt(t, p.Store, storetest.Series("m", "host", "a"), 1)
				faulty.Fail(method, nth, when)
				first := p.Rename(t.Context(), storage.MetricName, "m", "new")
				p.Stop()
				p = storetest.Start(t, db)
				again := p.Rename(t.Context(), storage.MetricName, "m", "new")
				if again != nil && !errors.As(again, new(storage.NoNameError)) {
					t.Errorf("%s: %v, again: %v", what, first, again)
				}
				writeAt(t, p.Store, storetest.Series("new", "host", "a"), 2)
				writeAt(t, p.Store, storetest.Series("m", "host", "a"), 3)
				checkContents(t, what, p.Store, map[string]string{"new{host=a}": "1 2", "m{host=a}": "3"})
			}
		}
	}
}

// Points come under both names while one is renamed to the other. None is lost, and what was sent under
// the new name after the rename is there under it.
func TestRenameWhileWritten(t *testing.T) {
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	p := storetest.StartBuffered(t, db, disk)
	writeAt(t, p.Store, storetest.Series("m", "host", "a"), 0)
	var sent atomic.Int64
	var ended atomic.Bool
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := 0; !ended.Load(); n++ {
				host := fmt.Sprint(w, "-", n/10) // new series all the time
				writeAt(t, p.Store, storetest.Series("m", "host", host), n%10)
				sent.Add(1)
			}
		})
	}
	for sent.Load() < 200 {
		time.Sleep(time.Millisecond) // polling
	}
	if err := p.Rename(t.Context(), storage.MetricName, "m", "new"); err != nil {
		t.Fatal(err)
	}
	for after := sent.Load(); sent.Load() < after+200; {
		time.Sleep(time.Millisecond) // polling
	}
	ended.Store(true)
	writers.Wait()
	points := 0
	for name, values := range contents(t, p.Store) {
		if !strings.HasPrefix(name, "m{") && !strings.HasPrefix(name, "new{") {
			t.Errorf("a series %s", name)
		}
		points += len(strings.Fields(values))
	}
	if points != int(sent.Load())+1 {
		t.Errorf("%d points of %d", points, sent.Load()+1)
	}
	checkNamed(t, db)
}

// checkNamed checks that each metric has one UID and each UID one metric.
func checkNamed(t *testing.T, db kv.KV) {
	t.Helper()
	var uids []string
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-uid", Family: "id", Start: []byte{1}, Qualifier: schema.UIDQualifier(storage.MetricName)}) {
		if err != nil {
			t.Fatal(err)
		}
		uids = append(uids, string(row.Cells[0].Value))
	}
	slices.Sort(uids)
	if len(slices.Compact(slices.Clone(uids))) != len(uids) {
		t.Errorf("metrics share UIDs: %q", uids)
	}
}

// Another process over the same tables has the new name after a refresh, for what it finds and for what
// it writes, and not the old one.
func TestRenameOverSharedTables(t *testing.T) {
	for kind, from := range map[storage.NameKind]string{storage.MetricName: "m", storage.TagKeyName: "host", storage.TagValueName: "a"} {
		db := kv.NewShared(storetest.Tables()...)
		var clock atomic.Int64
		clock.Store(1_700_000_000_000)
		db.SetClock(func() int64 { return clock.Add(1) })
		start := func() *store.Store {
			return storetest.Open(t, db, func(o *store.Options) {
				o.Exclusive, o.IndexRefresh = false, time.Hour
				o.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
			})
		}
		ours, theirs := start(), start()
		writeAt(t, ours, storetest.Series("m", "host", "a"), 1)
		refresh := func(s *store.Store) {
			t.Helper()
			if err := s.Refresh(t.Context(), clock.Load()-15*60_000); err != nil {
				t.Fatal(err)
			}
		}
		refresh(theirs)
		writeAt(t, theirs, storetest.Series("m", "host", "a"), 2)
		clock.Add(10 * 60_000)
		if err := ours.Rename(t.Context(), kind, from, "new"); err != nil {
			t.Fatal(err)
		}
		refresh(theirs)
		writeAt(t, theirs, renamedSeries(kind, "new"), 3)
		writeAt(t, theirs, storetest.Series("m", "host", "a"), 4)
		for _, s := range []*store.Store{ours, theirs} {
			refresh(s)
			checkContents(t, kind.String(), s, map[string]string{renamedSeries(kind, "new").String(): "1 2 3", "m{host=a}": "4"})
		}
	}
}
