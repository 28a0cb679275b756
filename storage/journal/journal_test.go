package journal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const table = "tsdb-tree"

// two processes over one table, and their clock.
func processes() (db *kv.Shared, one, two *journal.Journal, clock *time.Time) {
	db = kv.NewShared(kv.Table{Name: table, Families: []string{schema.FamilyData}})
	now := time.UnixMilli(1_700_000_000_000)
	db.SetClock(func() int64 { return now.UnixMilli() }) //nolint:gocritic // now changes
	of := func() *journal.Journal {
		return journal.New(kv.NewEngine(db, false), table, func() time.Time { return now })
	}
	return db, of(), of(), &now
}

func entries(t *testing.T, j *journal.Journal, since int64) []*journal.Entry {
	t.Helper()
	all, bad, err := j.Entries(t.Context(), since)
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	return all
}

func TestDeletionOfManySeries(t *testing.T) {
	_, one, two, _ := processes()
	var want [][]byte
	for i := range 20_000 {
		want = append(want, fmt.Appendf(nil, "series %d", i))
	}
	d := own.Deletion{Start: 1, End: 2, Whole: true, Until: 1_700_000_000_000}
	if _, err := one.Begin(t.Context(), d, want); err != nil {
		t.Fatal(err)
	}
	all := entries(t, two, 0)
	if len(all) != 1 || all[0].Parts != 3 || all[0].State != own.DeletionBegun || all[0].Until != d.Until || !all[0].Whole {
		t.Fatalf("%+v", all)
	}
	var got [][]byte
	err := two.Series(t.Context(), all[0], func(tsuids [][]byte) error {
		got = append(got, tsuids...)
		return nil
	})
	if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]byte]) {
		t.Errorf("%d series of %d, %v", len(got), len(want), err)
	}
}

// A deletion is one process's until its lease ends; of two processes that take it one succeeds.
func TestLeases(t *testing.T) {
	_, one, two, clock := processes()
	e, err := one.Begin(t.Context(), own.Deletion{Until: 1}, [][]byte{{1}})
	if err != nil {
		t.Fatal(err)
	}
	seen := entries(t, two, 0)[0]
	if !one.Free(e) || !one.Mine(e) || two.Free(seen) || two.Mine(seen) {
		t.Error("the lease is not that of the process that began the deletion")
	}
	*clock = clock.Add(journal.Lease)
	if !two.Free(seen) {
		t.Error("the lease does not end")
	}
	if ok, err := two.Renew(t.Context(), seen); err != nil || !ok || !two.Mine(seen) {
		t.Errorf("taking over: %v, %v", ok, err)
	}
	done := func(d *own.Deletion) { d.State = own.DeletionDone }
	if ok, err := one.Change(t.Context(), e, done); err != nil || ok || e.State != own.DeletionBegun {
		t.Errorf("a process that lost its lease: %v, %v, %+v", ok, err, e)
	}
	if ok, err := two.Change(t.Context(), seen, done); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
	if got := entries(t, one, 0); got[0].State != own.DeletionDone {
		t.Errorf("%+v", got[0])
	}
	if at, err := one.Changed(t.Context(), e); err != nil || at != clock.UnixMilli() {
		t.Errorf("changed at %d, %v", at, err)
	}
}

// Entries returns what was changed since a time. Records of later versions do not hide others.
func TestEntriesSince(t *testing.T) {
	db, one, two, clock := processes()
	for until := range int64(3) {
		if _, err := one.Begin(t.Context(), own.Deletion{Until: until}, [][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
		*clock = clock.Add(time.Minute)
	}
	if got := entries(t, two, clock.Add(-time.Minute).UnixMilli()); len(got) != 1 || got[0].Until != 2 {
		t.Errorf("%d entries", len(got))
	}
	bad := kv.Mutation{Key: own.DeletionKey(1, 7), Puts: []kv.Put{{Qualifier: []byte(own.DeletionQualifier), Value: []byte("?")}}}
	if err := db.Apply(t.Context(), table, schema.FamilyData, []kv.Mutation{bad}); err != nil {
		t.Fatal(err)
	}
	if got, unread, err := two.Entries(t.Context(), 0); err != nil || len(got) != 3 || len(unread) != 1 {
		t.Errorf("%d entries, %v, %v", len(got), unread, err)
	}
}

func TestRemove(t *testing.T) {
	db, one, _, clock := processes()
	e, err := one.Begin(t.Context(), own.Deletion{Until: 1}, [][]byte{{1}, {2}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Change(t.Context(), e, func(d *own.Deletion) { d.State, d.Done = own.DeletionSettled, clock.UnixMilli() }); err != nil {
		t.Fatal(err)
	}
	if one.Old(e) {
		t.Error("a deletion of now is old")
	}
	*clock = clock.Add(journal.Keep + time.Second)
	if !one.Old(e) {
		t.Error("a deletion does not become old")
	}
	if err := one.Remove(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for row := range db.Scan(t.Context(), kv.Scan{Table: table, Family: schema.FamilyData}) {
		t.Errorf("row %q is left", row.Key)
	}
}

// Of a deletion that has lost a row of series the others are read.
func TestLostSeries(t *testing.T) {
	db, one, two, _ := processes()
	var all [][]byte
	for i := range 20_000 {
		all = append(all, fmt.Appendf(nil, "%d", i))
	}
	e, err := one.Begin(t.Context(), own.Deletion{Until: 1}, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Apply(t.Context(), table, schema.FamilyData, []kv.Mutation{{Key: own.DeletionSeriesKey(e.Key, 1), DeleteRow: true}}); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = two.Series(t.Context(), entries(t, two, 0)[0], func(tsuids [][]byte) error {
		n += len(tsuids)
		return nil
	})
	if !errors.Is(err, journal.ErrLost) || n != 20_000-1<<13 {
		t.Errorf("%d series, %v", n, err)
	}
}

// forgetful loses the answer of a check-and-put and repeats it, as a client of HBase may.
type forgetful struct{ *kv.Shared }

func (f forgetful) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	if _, err := f.Shared.CheckAndPut(ctx, c, expected, value); err != nil {
		return false, err
	}
	return f.Shared.CheckAndPut(ctx, c, expected, value)
}

func TestLostAnswer(t *testing.T) {
	db, _, _, clock := processes()
	j := journal.New(kv.NewEngine(forgetful{db}, false), table, func() time.Time { return *clock })
	e, err := j.Begin(t.Context(), own.Deletion{Until: 1}, [][]byte{{1}})
	if err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(time.Second)
	if ok, err := j.Renew(t.Context(), e); err != nil || !ok {
		t.Errorf("renewed %v, %v", ok, err)
	}
	if ok, err := j.Change(t.Context(), e, func(d *own.Deletion) { d.State = own.DeletionDone }); err != nil || !ok || e.State != own.DeletionDone {
		t.Errorf("changed %v, %v, %+v", ok, err, e)
	}
}
