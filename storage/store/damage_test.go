package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// damagedHour is the hour of the tests, and damagedRow its row of the first series.
const damagedHour = 1356998400

func damagedRow() []byte { return []byte{0, 0, 1, 0x50, 0xe2, 0x27, 0, 0, 0, 1, 0, 0, 1} }

// damagedStore is a store with a point, whose log is in a buffer.
func damagedStore(t *testing.T, db kv.KV, change ...func(*store.Options)) (s *storetest.Process, ref storage.Ref, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	s = storetest.Start(t, db, append(change, func(o *store.Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })...)
	ref = s.Resolve([]storage.Series{storetest.Series("m", "host", "a")})[0]
	var b storage.Batch
	b.Add(ref, damagedHour*1000, 1)
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return s, ref, log
}

func putCell(t *testing.T, db kv.KV, table string, key []byte, qualifier, value string) {
	t.Helper()
	m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte(qualifier), Value: []byte(value), Time: 1}}}
	if err := db.Apply(t.Context(), table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		t.Fatal(err)
	}
}

// readAll reads a series as a query does.
func readAll(ctx context.Context, s *store.Store, ref storage.Ref) error {
	for _, err := range s.Select(ctx, storage.Query{Refs: []storage.Ref{ref}, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkUnreadable checks an error of damage, and that it is logged once.
func checkUnreadable(t *testing.T, err error, log *bytes.Buffer, want string) {
	t.Helper()
	if !errors.Is(err, storage.ErrUnreadable) || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want an ErrUnreadable with %s", err, want)
	}
	if n := strings.Count(log.String(), "cannot be read"); n != 2 { // in the message, and in the error
		t.Errorf("it is in the log %d times, want once:\n%s", n/2, log)
	}
}

// TestRemedies: what the error of a cell that cannot be read promises is what happens.
func TestRemedies(t *testing.T) {
	for name, c := range map[string]struct{ qualifier, value, fix string }{
		"value":     {"\x00\xA2", "\x01\x02\x03", "bad-value"},
		"compacted": {"\x00\xA1\x00\xB1", "\x00\x02\x00", "bad-compacted"},
		"append":    {"\x05\x00\x00", "\x00\xA1\x01", ""},
		"object":    {"\x82\x00\x00", "\xFF", ""},
	} {
		t.Run(name, func(t *testing.T) {
			db := kv.NewMem(storetest.Tables()...)
			s, ref, log := damagedStore(t, db)
			putCell(t, db, "tsdb", damagedRow(), c.qualifier, c.value)
			err := readAll(t.Context(), s.Store, ref)
			if err == nil {
				t.Fatal("it is read")
			}
			_ = readAll(t.Context(), s.Store, ref)
			if c.fix == "" {
				checkUnreadable(t, err, log, "does not mend it")
				if report := mend(t, s.Store, fsck.Kind("bad-"+name)); report != 1 || readAll(t.Context(), s.Store, ref) == nil {
					t.Errorf("fsck finds it %d times", report)
				}
				deleted := storage.Deletion{Refs: []storage.Ref{ref}, Start: damagedHour * 1000, End: damagedHour*1000 + 3_599_999}
				if _, err := s.Delete(t.Context(), deleted); err != nil {
					t.Errorf("the deletion of the hour: %v", err)
				}
			} else {
				checkUnreadable(t, err, log, "--fix="+c.fix+" deletes the cell")
				if n := mend(t, s.Store, fsck.Kind(c.fix)); n != 1 {
					t.Errorf("fsck finds it %d times", n)
				}
			}
			if err := readAll(t.Context(), s.Store, ref); err != nil {
				t.Errorf("after that: %v", err)
			}
		})
	}
}

// mend runs fsck with --fix of a kind and returns how many it found of that.
func mend(t *testing.T, s *store.Store, kind fsck.Kind) (found int) {
	t.Helper()
	_, err := fsck.Run(t.Context(), s.Fsck(nil), fsck.RunOptions{
		Query: fsck.Query{Fix: []fsck.Kind{kind}}, Parallel: 1, Now: time.Now, Every: time.Hour, Progress: func(fsck.Progress) {},
		Found: func(f fsck.Finding) {
			if f.Kind == kind {
				found++
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRemediesOfRolled: the same for cells of rollup tables and of archives.
func TestRemediesOfRolled(t *testing.T) {
	config, err := rollup.ParseConfig([]byte(rolledConfig), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	tables := append(storetest.Tables(), kv.Table{Name: "archive", Families: []string{"t"}}, kv.Table{Name: "rolled", Families: []string{"t"}})
	db := kv.NewMem(tables...)
	s, ref, log := damagedStore(t, db, func(o *store.Options) { o.Rollups, o.ArchiveTable = config, "archive" })
	tsuid, hour := s.Catalog().TSUIDOf(ref), &config.Intervals[0] // the longest comes first
	put := func() {
		point := rollup.Point{Series: ref, Time: damagedHour, Value: schema.Point{Bits: 1}, Interval: hour, Aggregation: "sum"}
		if err := s.Rollups().Put(t.Context(), []rollup.Point{point}); err != nil {
			t.Fatal(err)
		}
	}
	read := func() error {
		_, err := s.Rollups().Read(t.Context(), rollup.Query{
			Interval: hour, Aggregations: []string{"sum"}, TSUIDs: [][]byte{tsuid}, From: damagedHour - 86400, To: damagedHour + 86400,
		})
		return err
	}
	put()
	key, qualifier := onlyCell(t, db, "rolled")
	putCell(t, db, "rolled", key, qualifier, "\x01\x02\x03")
	err = read()
	_ = read()
	checkUnreadable(t, err, log, "the same value sent again replaces the cell")
	if put(); read() != nil {
		t.Errorf("the value was sent again: %v", read())
	}

	log.Reset()
	if err := s.Archives().Put(t.Context(), ref, []storage.ArchiveSlots{{Step: 60, Times: []int64{damagedHour}, Values: []float64{1}}}); err != nil {
		t.Fatal(err)
	}
	key, qualifier = onlyCell(t, db, "archive")
	putCell(t, db, "archive", key, qualifier, "\xFF\xFF")
	read = func() error {
		return s.Archives().Read(t.Context(), storage.ArchiveQuery{Refs: []storage.Ref{ref}, Step: 60, To: 1 << 32}, func(storage.Ref, []int64, []float64) {})
	}
	err = read()
	_ = read()
	checkUnreadable(t, err, log, "--fix=bad-archive deletes the cell")
}

// onlyCell returns the key and the qualifier of the only cell of a table.
func onlyCell(t *testing.T, db kv.KV, table string) (key []byte, qualifier string) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: table, Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		return row.Key, string(row.Cells[0].Qualifier)
	}
	t.Fatalf("table %s has no cell: %v", table, cellsOf(t, db))
	return nil, ""
}
