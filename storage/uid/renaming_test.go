package uid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

func openOver(db kv.KV, exclusive bool) *uid.Dictionary {
	return uid.New(kv.NewEngine(db, exclusive), uid.Options{Table: "tsdb-uid", Layout: schema.DefaultLayout(), CacheEntries: 1000})
}

// rename makes all steps of a rename.
func rename(ctx context.Context, d *uid.Dictionary, kind storage.NameKind, from, to string) error {
	r, err := d.BeginRename(ctx, kind, from, to)
	if err != nil {
		return err
	}
	defer r.End()
	return r.Finish(ctx)
}

// renamedTable has the metric "other" and the metric "old", which is a tag key too.
func renamedTable(t *testing.T, db kv.KV) {
	t.Helper()
	d := openOver(db, true)
	for _, kind := range []storage.NameKind{storage.MetricName, storage.TagKeyName} {
		if _, errs := d.Assign(t.Context(), kind, []string{"other"}); errs != nil {
			t.Fatal(errs)
		}
		if _, errs := d.Assign(t.Context(), kind, []string{"old"}); errs != nil {
			t.Fatal(errs)
		}
	}
}

// engines are the engines whose steps differ: what one process has, and what several have.
func engines() map[string]func() (db kv.KV, exclusive bool) {
	table := kv.Table{Name: "tsdb-uid", Families: []string{"id", "name"}}
	return map[string]func() (kv.KV, bool){
		"alone":  func() (kv.KV, bool) { return kv.NewMem(table), true },
		"shared": func() (kv.KV, bool) { return kv.NewShared(table), false },
	}
}

// A rename leaves what a TSD's does: the reverse row and the forward row of the new name, no forward
// row of the old one, and the same name of another kind. The old name gets another UID afterwards.
func TestRenameOurs(t *testing.T) {
	for engine, open := range engines() {
		db, exclusive := open()
		renamedTable(t, db)
		d := openOver(db, exclusive)
		before := dump(t, db)
		if err := rename(t.Context(), d, storage.MetricName, "old", "new"); err != nil {
			t.Fatal(engine, err)
		}
		after := strings.ReplaceAll(before, "6f6c64 id:metrics 000002\n", "")
		after = strings.ReplaceAll(after, "000002 name:metrics 6f6c64", "000002 name:metrics 6e6577")
		after = strings.ReplaceAll(after, "6f6c64 id:tagk", "6e6577 id:metrics 000002\n6f6c64 id:tagk")
		if got := dump(t, db); got != after {
			t.Errorf("%s: the table is\n%s, want\n%s", engine, got, after)
		}
		uids, errs := d.Assign(t.Context(), storage.MetricName, []string{"old", "new"})
		if errs != nil || uids[0] != "\x00\x00\x03" || uids[1] != "\x00\x00\x02" {
			t.Errorf("%s: Assign = %q, %v", engine, uids, errs)
		}
		if names, err := d.Names(t.Context(), storage.MetricName, []string{"\x00\x00\x02"}); err != nil || names[0] != "new" {
			t.Errorf("%s: Names = %q, %v", engine, names, err)
		}
	}
}

// What cannot be renamed has a TSD's words, and stays as it is.
func TestRenameRefused(t *testing.T) {
	db, exclusive := engines()["alone"]()
	renamedTable(t, db)
	before := dump(t, db)
	for _, c := range []struct{ from, to, want string }{
		{"none", "new", `Name("none") does not exist`},
		{"none", "other", `Name("none") does not exist`},
		{"old", "other", `When trying rename("old", "other") on UniqueId(tsdb-uid, metrics, 3): new name already assigned ID=[0, 0, 1]`},
		{"old", "old", `When trying rename("old", "old") on UniqueId(tsdb-uid, metrics, 3): new name already assigned ID=[0, 0, 2]`},
		{"old", "", "name cannot be stored: empty name"},
		{"old", "中", "name cannot be stored: name \"中\": character U+4E2D at byte 0 is not one of U+0001 to U+00FF"},
	} {
		if err := rename(t.Context(), openOver(db, exclusive), storage.MetricName, c.from, c.to); err == nil || err.Error() != c.want {
			t.Errorf("rename %q to %q: %v, want %s", c.from, c.to, err, c.want)
		}
	}
	if after := dump(t, db); after != before {
		t.Errorf("the table was changed from\n%s to\n%s", before, after)
	}
}

// Each call to the table fails in turn, before and after it took effect. In between the UID has a name
// at every moment, and both names have no other UID than this. The same rename finishes, in this process
// or in another one.
func TestRenameFails(t *testing.T) {
	for engine, open := range engines() {
		for _, method := range []kvtest.Method{kvtest.Get, kvtest.CheckAndPut, kvtest.Apply} {
			for nth := 1; nth <= 4; nth++ {
				for _, when := range []kvtest.When{kvtest.Before, kvtest.After} {
					for _, restarted := range []bool{false, true} {
						what := fmt.Sprintf("%s, %s number %d fails %s, restarted %v", engine, method, nth, when, restarted)
						db, exclusive := open()
						renamedTable(t, db)
						faulty := kvtest.New(db)
						d := openOver(faulty, exclusive)
						if _, err := d.Lookup(t.Context(), storage.MetricName, []string{"old", "new"}); err != nil {
							t.Fatal(err)
						}
						faulty.Fail(method, nth, when)
						first := rename(t.Context(), d, storage.MetricName, "old", "new")
						if first != nil && !errors.Is(first, kvtest.ErrFault) {
							t.Fatalf("%s: %v", what, first)
						}
						uids, err := openOver(db, exclusive).Lookup(t.Context(), storage.MetricName, []string{"old", "new"})
						if err != nil || uids[0]+uids[1] == "" || strings.Trim(uids[0]+uids[1], "\x00\x02") != "" {
							t.Errorf("%s: in between the names have %q, %v", what, uids, err)
						}
						if restarted {
							d = openOver(db, exclusive)
						}
						done := uids[0] == ""
						if err := rename(t.Context(), d, storage.MetricName, "old", "new"); err != nil && (!done || !errors.As(err, new(storage.NoNameError))) {
							t.Errorf("%s: again: %v", what, err)
						}
						names, err := d.Names(t.Context(), storage.MetricName, []string{"\x00\x00\x02"})
						if err != nil || names[0] != "new" {
							t.Errorf("%s: the name is %q, %v", what, names, err)
						}
						uids, err = d.Lookup(t.Context(), storage.MetricName, []string{"old", "new"})
						if err != nil || uids[0] != "" || uids[1] != "\x00\x00\x02" {
							t.Errorf("%s: at last the names have %q, %v", what, uids, err)
						}
					}
				}
			}
		}
	}
}

// hooked calls before ahead of each check-and-put, with its number.
type hooked struct {
	kv.KV
	calls  int
	before func(n int)
}

func (h *hooked) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	h.calls++
	h.before(h.calls)
	return h.KV.CheckAndPut(ctx, c, expected, value)
}

// Another process assigns the new name, or renames the UID otherwise, ahead of each step. One of the two
// is refused, and no UID has two names, no name two UIDs.
func TestRenameBeside(t *testing.T) {
	for _, other := range []string{"assigns", "renames"} {
		for n := 1; n <= 2; n++ {
			what := fmt.Sprintf("another process %s ahead of step %d", other, n)
			db := kv.NewShared(kv.Table{Name: "tsdb-uid", Families: []string{"id", "name"}})
			renamedTable(t, db)
			h := &hooked{KV: db}
			var theirs error
			h.before = func(call int) {
				if call != n {
					return
				}
				if d := openOver(db, false); other == "assigns" {
					_, errs := d.Assign(t.Context(), storage.MetricName, []string{"new"})
					theirs = errors.Join(errs...)
				} else {
					theirs = rename(t.Context(), d, storage.MetricName, "old", "their")
				}
			}
			ours := rename(t.Context(), openOver(h, false), storage.MetricName, "old", "new")
			if theirs != nil || ours == nil {
				t.Errorf("%s: ours %v, theirs %v", what, ours, theirs)
			}
			checkConsistent(t, what, db)
		}
	}
}

// checkConsistent checks that all mappings of metrics have their inverse.
func checkConsistent(t *testing.T, what string, db kv.KV) {
	t.Helper()
	forward, reverse := map[string]string{}, map[string]string{}
	for family, m := range map[string]map[string]string{"id": forward, "name": reverse} {
		for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-uid", Family: family, Start: []byte{0, 0}, Qualifier: schema.UIDQualifier(storage.MetricName)}) {
			if err != nil {
				t.Fatal(err)
			}
			m[string(row.Key)] = string(row.Cells[0].Value)
		}
	}
	for name, uid := range forward {
		if reverse[uid] != name {
			t.Errorf("%s: %q has %q, which has the name %q", what, name, uid, reverse[uid])
		}
	}
	for uid, name := range reverse {
		if forward[name] != uid {
			t.Errorf("%s: %q has the name %q, which has %q", what, uid, name, forward[name])
		}
	}
}

// A UID is renamed to and fro while others look both names up and assign them: at the end this process
// knows what the table has.
func TestRenameWhileRead(t *testing.T) {
	for engine, open := range engines() {
		db, exclusive := open()
		renamedTable(t, db)
		d := openOver(db, exclusive)
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if _, err := d.Lookup(t.Context(), storage.MetricName, []string{"old", "new"}); err != nil {
						t.Error(err)
					}
					if _, err := d.Names(t.Context(), storage.MetricName, []string{"\x00\x00\x02"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 500 {
			for _, names := range [][2]string{{"old", "new"}, {"new", "old"}} {
				if err := rename(t.Context(), d, storage.MetricName, names[0], names[1]); err != nil {
					t.Fatal(engine, err)
				}
				uids, err := d.Lookup(t.Context(), storage.MetricName, names[:])
				if err != nil || uids[0] != "" || uids[1] != "\x00\x00\x02" {
					t.Fatalf("%s: after %v: %q, %v", engine, names, uids, err)
				}
				if got, err := d.Names(t.Context(), storage.MetricName, uids[1:]); err != nil || got[0] != names[1] {
					t.Fatalf("%s: after %v the name is %q, %v", engine, names, got, err)
				}
			}
		}
		close(done)
		readers.Wait()
		checkConsistent(t, engine, db)
	}
}
