package uid_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// renaming is a table with a clock of its own, two processes on it, and a name.
type renaming struct {
	*testing.T
	db          *kv.Mem
	clock       int64
	mine, other *uid.Dictionary
	uid         string
}

func newRenaming(t *testing.T) *renaming {
	r := &renaming{T: t, db: newTable(), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()}
	r.db.SetClock(func() int64 { return r.clock })
	r.mine, r.other = open(r.db), open(r.db)
	uids, errs := r.mine.Assign(t.Context(), storage.TagValueName, []string{"old"})
	if errs != nil {
		t.Fatal(errs)
	}
	r.uid = uids[0]
	return r
}

// refresh looks for changes of the last ten minutes.
func (r *renaming) refresh(d *uid.Dictionary) int {
	r.Helper()
	renamed, err := d.Refresh(r.Context(), r.clock-10*time.Minute.Milliseconds(), r.clock)
	if err != nil {
		r.Fatal(err)
	}
	return len(renamed)
}

// rename writes what OpenTSDB's "uid rename" does, step by step; after each, between is called.
func (r *renaming) rename(name string, between func()) {
	r.Helper()
	q := schema.UIDQualifier(storage.TagValueName)
	for _, step := range []struct {
		family string
		m      kv.Mutation
	}{
		{"name", kv.Mutation{Key: []byte(r.uid), Puts: []kv.Put{{Qualifier: q, Value: []byte(name)}}}},
		{"id", kv.Mutation{Key: []byte(name), Puts: []kv.Put{{Qualifier: q, Value: []byte(r.uid)}}}},
		{"id", kv.Mutation{Key: []byte("old"), Deletes: []kv.Delete{{Qualifier: q}}}},
	} {
		if err := r.db.Apply(r.Context(), "tsdb-uid", step.family, []kv.Mutation{step.m}); err != nil {
			r.Fatal(err)
		}
		between()
	}
}

// want checks the name of the UID and the UIDs of both names.
func (r *renaming) want(d *uid.Dictionary, name, oldUID, newUID string) {
	r.Helper()
	names, err := d.Names(r.Context(), storage.TagValueName, []string{r.uid})
	if err != nil || names[0] != name {
		r.Errorf("Names = %q, %v, want %q", names, err, name)
	}
	uids, err := d.Lookup(r.Context(), storage.TagValueName, []string{"old", "new"})
	if err != nil || uids[0] != oldUID || uids[1] != newUID {
		r.Errorf("Lookup = %x, %v, want %x and %x", uids, err, oldUID, newUID)
	}
}

// TestRename renames a value that two processes have in their caches, and reads it between the
// steps.
func TestRename(t *testing.T) {
	r := newRenaming(t)
	r.want(r.other, "old", r.uid, "")
	for _, d := range []*uid.Dictionary{r.mine, r.other} {
		if n, err := d.Refresh(t.Context(), 0, r.clock); len(n) > 0 || err != nil {
			t.Fatalf("the first Refresh = %v, %v", n, err)
		}
	}
	r.clock += time.Hour.Milliseconds()
	r.rename("new", func() {
		if _, err := r.other.Lookup(t.Context(), storage.TagValueName, []string{"old", "new"}); err != nil {
			t.Fatal(err)
		}
		r.refresh(r.other)
	})
	if n := r.refresh(r.mine); n == 0 {
		t.Error("the rename of a name in the cache counts for nothing")
	}
	for _, d := range []*uid.Dictionary{r.mine, r.other} {
		r.want(d, "new", "", r.uid)
	}
	counted := 0
	for range 5 {
		counted += r.refresh(r.mine)
	}
	if counted > 1 {
		t.Errorf("an old rename is counted %d times more", counted)
	}
}

// TestNewNamesAreNoRenames: names that another process assigns do not count as renames.
func TestNewNamesAreNoRenames(t *testing.T) {
	r := newRenaming(t)
	if _, err := r.mine.Refresh(t.Context(), 0, r.clock); err != nil {
		t.Fatal(err)
	}
	r.clock += time.Minute.Milliseconds()
	if _, errs := r.other.Assign(t.Context(), storage.TagValueName, []string{"another", "third"}); errs != nil {
		t.Fatal(errs)
	}
	if n := r.refresh(r.mine); n != 0 {
		t.Errorf("%d renames, want none", n)
	}
}

func TestRefreshFails(t *testing.T) {
	for _, method := range []kvtest.Method{kvtest.Get, kvtest.Scan} {
		faulty := kvtest.New(newTable())
		d := open(faulty)
		faulty.Fail(method, 1, kvtest.Before)
		if n, err := d.Refresh(t.Context(), 1, 2); len(n) > 0 || !errors.Is(err, kvtest.ErrFault) {
			t.Errorf("%s fails: Refresh = %v, %v", method, n, err)
		}
	}
}

// TestMeasure measures how many UIDs other processes have assigned.
func TestMeasure(t *testing.T) {
	db := newTable()
	d := open(db)
	if err := d.Measure(t.Context()); err != nil || d.Used(storage.TagKeyName) != 0 || d.Exhausted(storage.TagKeyName) != nil {
		t.Errorf("an empty table: %v, %v used", err, d.Used(storage.TagKeyName))
	}
	column := kv.Column{Table: "tsdb-uid", Family: "id", Row: []byte{0}, Qualifier: schema.UIDQualifier(storage.TagKeyName)}
	for _, c := range []struct {
		counter   int64
		used      float64
		exhausted bool
	}{{1 << 22, 0.25, false}, {1<<24 - 1, 1, true}, {1 << 30, 1, true}} {
		held, err := db.Increment(t.Context(), column, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Increment(t.Context(), column, c.counter-held); err != nil {
			t.Fatal(err)
		}
		if err := d.Measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		used, err := d.Used(storage.TagKeyName), d.Exhausted(storage.TagKeyName)
		if used < c.used-0.01 || used > c.used+0.01 || errors.Is(err, uid.ErrExhausted) != c.exhausted {
			t.Errorf("counter %d: %v used, Exhausted = %v", c.counter, used, err)
		}
	}
	put := kv.Mutation{Key: []byte{0}, Puts: []kv.Put{{Qualifier: schema.UIDQualifier(storage.TagKeyName), Value: []byte("short")}}}
	if err := db.Apply(t.Context(), "tsdb-uid", "id", []kv.Mutation{put}); err != nil {
		t.Fatal(err)
	}
	if err := d.Measure(t.Context()); err == nil {
		t.Error("a counter of 5 bytes is measured")
	}
}

// TestAssignFails fails each call of an assignment, before and after it took effect: the name never
// has a UID without its reverse row, and the next attempt succeeds.
func TestAssignFails(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		for _, method := range []kvtest.Method{kvtest.Get, kvtest.Increment, kvtest.CheckAndPut, kvtest.Apply} {
			for nth := 1; nth <= 2; nth++ {
				for _, when := range []kvtest.When{kvtest.Before, kvtest.After} {
					db := newTable()
					faulty := kvtest.New(db)
					d := uid.New(kv.NewEngine(faulty, exclusive), uid.Options{Table: "tsdb-uid", Layout: schema.DefaultLayout(), CacheEntries: 100})
					names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
					faulty.Fail(method, nth, when)
					_, first := d.Assign(t.Context(), storage.MetricName, names)
					uids, errs := d.Assign(t.Context(), storage.MetricName, names)
					if errs != nil {
						t.Errorf("%s number %d fails %s with %v; then Assign = %v", method, nth, when, first, errs)
						continue
					}
					back, err := open(db).Names(t.Context(), storage.MetricName, uids)
					if err != nil {
						t.Fatal(err)
					}
					for i := range names {
						if back[i] != names[i] {
							t.Errorf("%s number %d fails %s: %q has the UID of %q", method, nth, when, names[i], back[i])
						}
					}
				}
			}
		}
	}
}
