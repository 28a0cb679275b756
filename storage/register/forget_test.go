package register_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// office is a registrar of its own over tables, and the observer of its series.
type office struct {
	*register.Registrar
	t        *testing.T
	db       kv.KV
	faults   *kvtest.Faulty // between the registrar and db; nil on shared tables
	index    *index.Index
	registry *catalog.Registry

	told []string // what the observer was told, in order
	err  error    // what the observer answers
}

func newOffice(t *testing.T, db kv.KV) *office {
	o := &office{t: t, db: db}
	engine := kv.NewEngine(db, false)
	if mem, ok := db.(*kv.Mem); ok {
		o.faults = kvtest.New(mem)
		engine = kv.NewEngine(o.faults, true)
	}
	layout, reg := schema.DefaultLayout(), prometheus.NewRegistry()
	tables := storage.Tables{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"}
	uids := uid.New(engine, uid.Options{Table: tables.UID, Layout: layout, CacheEntries: 100})
	o.index = index.New(layout)
	o.registry = catalog.NewRegistry(o.index, layout, engine.Exclusive)
	names := catalog.New(catalog.Options{
		DB: engine, Tables: tables, Layout: layout, UIDs: uids, Series: o.index, Registry: o.registry, Index: storage.IndexMeta,
		Ready: func() error { return nil }, OpenRows: func() int { return 0 }, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: reg,
	})
	o.Registrar = register.New(register.Options{
		DB: engine, Table: tables.Meta, Layout: layout, UIDs: uids, Series: o.index, Registry: o.registry, Catalog: names,
		UIDUsage: catalog.NewUIDUsage(uids, layout, tables.UID, slog.New(slog.DiscardHandler)),
		Observer: o, NoteNew: o.registry.Note, CheckFit: func(context.Context) error { return nil }, Now: time.Now, Registerer: reg,
	})
	return o
}

// newShared returns shared tables whose clock moves with each change: a put with the stamp of a
// deletion would be hidden by it.
func newShared() *kv.Shared {
	db := kv.NewShared(storetest.Tables()...)
	var clock atomic.Int64
	db.SetClock(func() int64 { return clock.Add(1) })
	return db
}

// tell notes what the observer is told of series, and what holds at that time.
func (o *office) tell(what string, list []storage.NewSeries) error {
	for _, s := range list {
		row, exists := "no row", "unknown"
		if o.hasRow(s.TSUID) {
			row = "row"
		}
		if id, ok := o.index.Lookup(s.TSUID); ok && o.registry.Of(id).Exists() {
			exists = "registered"
		}
		o.told = append(o.told, fmt.Sprint(what, " ", s.Series, ": ", row, ", ", exists))
	}
	return o.err
}

func (o *office) Observe(_ context.Context, list []storage.NewSeries) error {
	return o.tell("observe", list)
}

func (o *office) Renamed(_ context.Context, old, renamed []storage.NewSeries) error {
	return errors.Join(o.tell("renamed from", old), o.tell("to", renamed))
}

func (o *office) Forgotten(_ context.Context, list []storage.NewSeries) error {
	return o.tell("forgotten", list)
}

// Forget hides the Registrar's: an office is the observer.
func (o *office) Forget(_ context.Context, list []storage.NewSeries) error {
	return o.tell("forget", list)
}

// check compares what the observer was told since the last check.
func (o *office) check(when string, want ...string) {
	o.t.Helper()
	if diff := cmp.Diff(want, o.told); diff != "" {
		o.t.Errorf("%s the observer was told (-want +got):\n%s", when, diff)
	}
	o.told = nil
}

// hasRow reports whether a series has a row of tsdb-meta.
func (o *office) hasRow(tsuid []byte) bool {
	o.t.Helper()
	rows, err := o.db.Get(o.t.Context(), "tsdb-meta", schema.FamilyMeta, [][]byte{tsuid})
	if err != nil {
		o.t.Fatal(err)
	}
	return len(rows[0].Cells) > 0
}

// resolve registers the series m{host=…} of some hosts.
func (o *office) resolve(hosts ...string) (ids []index.ID) {
	o.t.Helper()
	var list []storage.Series
	for _, host := range hosts {
		list = append(list, storetest.Series("m", "host", host))
	}
	refs, errs := o.Resolve(o.t.Context(), list)
	if errs != nil {
		o.t.Fatal(errs)
	}
	for _, ref := range refs {
		ids = append(ids, index.IDOf(ref))
	}
	return ids
}

// state describes a series: whether it has its row, and whether it is registered.
func (o *office) state(id index.ID) string {
	o.t.Helper()
	return fmt.Sprintf("row %v, registered %v", o.hasRow([]byte(o.index.TSUID(id))), o.registry.Of(id).Exists())
}

const (
	there = "row true, registered true"
	gone  = "row false, registered false"
)

func (o *office) states(when string, ids []index.ID, want ...string) {
	o.t.Helper()
	var got []string
	for _, id := range ids {
		got = append(got, o.state(id))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		o.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// TestForget: the row of tsdb-meta goes first, then what the observer has, and last the registration.
// Other series stay. A series that is forgotten twice is no error, and one that comes back has its
// old number and is observed anew.
func TestForget(t *testing.T) {
	for name, db := range map[string]kv.KV{"exclusive": kv.NewMem(storetest.Tables()...), "shared": newShared()} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, db)
			ids := o.resolve("a", "b")
			o.check("at first", "observe m{host=a}: no row, unknown", "observe m{host=b}: no row, unknown")
			for range 2 {
				if err := o.Registrar.Forget(t.Context(), ids[:1], math.MaxInt64); err != nil {
					t.Fatal(err)
				}
				o.states("after Forget", ids, gone, there)
				if n := o.registry.Forgotten(); n != 1 {
					t.Errorf("%d series are forgotten, want 1", n)
				}
			}
			o.check("by Forget", "forget m{host=a}: no row, registered", "forget m{host=a}: no row, unknown")
			if back := o.resolve("a", "b"); back[0] != ids[0] || back[1] != ids[1] {
				t.Errorf("the series have the numbers %v and had %v", back, ids)
			}
			o.check("when it comes back", "observe m{host=a}: no row, unknown")
			o.states("when it comes back", ids, there, there)
			if err := o.Registrar.Forget(t.Context(), nil, math.MaxInt64); err != nil {
				t.Error(err)
			}
			o.check("of no series")
		})
	}
}

// TestForgetFails: until a Forget succeeds, its series count as registered, and it can be repeated.
func TestForgetFails(t *testing.T) {
	o := newOffice(t, kv.NewMem(storetest.Tables()...))
	ids := o.resolve("a", "b")
	o.told = nil
	o.faults.Fail(kvtest.Apply, 1, kvtest.Before)
	if err := o.Registrar.Forget(t.Context(), ids, math.MaxInt64); !errors.Is(err, kvtest.ErrFault) {
		t.Errorf("Forget that cannot change tsdb-meta = %v", err)
	}
	o.check("when tsdb-meta failed")
	o.states("when tsdb-meta failed", ids, there, there)

	o.err = errors.New("no tree today")
	if err := o.Registrar.Forget(t.Context(), ids, math.MaxInt64); !errors.Is(err, o.err) {
		t.Errorf("Forget with a failing observer = %v", err)
	}
	o.check("when it failed", "forget m{host=a}: no row, registered", "forget m{host=b}: no row, registered")
	o.states("when the observer failed", ids, "row false, registered true", "row false, registered true")

	o.err = nil
	if err := o.Registrar.Forget(t.Context(), ids, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	o.check("at last", "forget m{host=a}: no row, registered", "forget m{host=b}: no row, registered")
	o.states("at last", ids, gone, gone)
}

// TestForgetKeepsNewerRows: on shared tables a row that was written after the time of the deletion
// stays with its series; the row of a third one is gone already.
func TestForgetKeepsNewerRows(t *testing.T) {
	db := kv.NewShared(storetest.Tables()...)
	clock := int64(1_700_000_000_000)
	db.SetClock(func() int64 { return clock })
	o := newOffice(t, db)
	ids := o.resolve("old", "removed")
	until := clock
	clock += 1000
	ids = append(ids, o.resolve("new")...)
	removed := kv.Mutation{Key: []byte(o.index.TSUID(ids[1])), DeleteRow: true, RowTime: clock}
	if err := db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, []kv.Mutation{removed}); err != nil {
		t.Fatal(err)
	}
	o.states("before", ids, there, "row false, registered true", there)
	o.told = nil
	if err := o.Registrar.Forget(t.Context(), ids, until); err != nil {
		t.Fatal(err)
	}
	o.check("by Forget", "forget m{host=old}: no row, registered", "forget m{host=removed}: no row, registered")
	o.states("after", ids, gone, gone, there)
}

// TestFollow: series whose rows another process has deleted are forgotten here; those that still
// have theirs, or have it again, stay. Nothing is written.
func TestFollow(t *testing.T) {
	db := newShared()
	one, other := newOffice(t, db), newOffice(t, db)
	ids := one.resolve("a", "b", "c")
	if same := other.resolve("a", "b", "c"); !cmp.Equal(same, ids) {
		t.Fatalf("numbers %v and %v", ids, same)
	}
	other.told = nil
	if err := one.Registrar.Forget(t.Context(), []index.ID{ids[0], ids[2]}, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	one.resolve("c")
	other.states("before", ids, "row false, registered true", there, there)

	other.err = errors.New("no tree today")
	if err := other.Follow(t.Context(), ids); !errors.Is(err, other.err) {
		t.Errorf("Follow with a failing observer = %v", err)
	}
	other.states("when the observer failed", ids, "row false, registered true", there, there)
	other.err, other.told = nil, nil

	if err := other.Follow(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	other.check("by Follow", "forgotten m{host=a}: no row, registered")
	other.states("after", ids, gone, there, there)
	if err := other.Follow(t.Context(), nil); err != nil {
		t.Error(err)
	}
	other.check("of no series")
	other.resolve("a")
	other.check("when it comes back", "observe m{host=a}: no row, unknown")
}

// TestRegisterAgain: Register gives series their rows again under their numbers.
func TestRegisterAgain(t *testing.T) {
	o := newOffice(t, kv.NewMem(storetest.Tables()...))
	ids := o.resolve("a", "b")
	if err := o.Registrar.Forget(t.Context(), ids[:1], math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	o.told = nil
	o.err = errors.New("no tree today")
	if err := o.Register(t.Context(), ids[:1]); !errors.Is(err, o.err) {
		t.Errorf("Register with a failing observer = %v", err)
	}
	o.states("when the observer failed", ids, gone, there)
	o.err, o.told = nil, nil
	if err := o.Register(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	o.check("by Register", "observe m{host=a}: no row, unknown")
	o.states("after", ids, there, there)
	if n := o.registry.Forgotten(); n != 0 {
		t.Errorf("%d series are still forgotten", n)
	}
}
