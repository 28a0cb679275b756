package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// nowhere is an address that nothing listens on.
const nowhere = "127.0.0.1:1"

// spooledOptions are those of a store whose points are sent on to servers that are away.
func spooledOptions(t *testing.T) Options {
	t.Helper()
	o := fixtureOptions(t)
	return withDestinations(t, o)
}

func withDestinations(t *testing.T, o Options) Options {
	t.Helper()
	o.Carbon.Forward.Addresses = []string{nowhere}
	o.PromConfig = mustParseProm(t, t.TempDir(), fmt.Sprintf(`remote_write: [{url: "http://%s/", name: other}]`, nowhere))
	return o
}

// spooledMoment returns a store as a kill left it, with points in the spools of both kinds.
func spooledMoment(t *testing.T, o Options, name string) (path string) {
	t.Helper()
	a, stop := runAdapter(t, o)
	defer stop()
	sendMinutes(t, a, name, -20, 0, 1)
	sendCarbon(t, a, fmt.Sprintf("%s.carbon 1 %d\n", name, fixtureTime(-1)/1000), name+`.carbon [{"-_" "1"}]`, fixtureTime(-1))
	settled(t, a)
	sendMinutes(t, a, name, 0, 1, 1) // the spools know of the generation
	spooled := filepath.Join(o.Path, "forward")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // polling, with a deadline
		if dirs, err := persistentqueue.Dirs(spooled); err == nil && len(dirs) == 1 && waitsIn(t, dirs[0]) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("carbon's points are not in the spool")
		}
	}
	path = filepath.Join(t.TempDir(), name)
	servertest.CopyRunning(t, o.Path, path)
	return path
}

func waitsIn(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "spool", "*.log"))
	must(t, err)
	return len(files) > 0
}

// startSpooled starts a copy of a store. It returns why that was refused; empty: it was not.
func startSpooled(t *testing.T, o Options, path string) string {
	t.Helper()
	o.Path = path
	a, err := New(withDestinations(t, o))
	if err != nil {
		return err.Error()
	}
	must(t, a.Close())
	return ""
}

// replaceSpools puts the spools of one store in the place of those of another one.
func replaceSpools(t *testing.T, from, to string) {
	t.Helper()
	for _, kind := range []string{"forward", "remote-write"} {
		must(t, os.RemoveAll(filepath.Join(to, kind)))
		must(t, servertest.CopySparse(filepath.Join(from, kind), filepath.Join(to, kind)))
	}
}

// TestForeignSpools: a spool of another store, of a copy that went on, or of a time that an older store does not know is
// refused by name. "store check" finds it and --fix puts it aside. An older spool is sent again.
func TestForeignSpools(t *testing.T) {
	o := spooledOptions(t)
	first := spooledMoment(t, o, "first")
	copied := copyOfPath(t, first)
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	o.Path = copyOfPath(t, first)
	must(t, tables.BackUp(t.Context(), withoutDestinations(o).Options, backup))
	must(t, pebble.Restore(t.Context(), pebble.Options{Path: restored, Logger: o.Logger, Tables: o.Tables()}, backup))
	later := spooledMoment(t, o, "later")
	o.Path = copied
	fork := spooledMoment(t, o, "fork")
	other := spooledMoment(t, spooledOptions(t), "other")
	for _, c := range []struct{ what, store, spools string }{
		{"of another store", later, other},
		{"of another store", other, later},
		{"the tables are older than it", first, later},
		{"of a copy of this store", later, fork},
		{"spool.mark", fork, later},
		{"spool.mark", restored, later},
		{"", later, first},
		{"", fork, first},
		{"", restored, first},
		{"", first, first},
	} {
		path := copyOfPath(t, c.store)
		replaceSpools(t, c.spools, path)
		what := fmt.Sprintf("spools of %s in %s", filepath.Base(c.spools), filepath.Base(c.store))
		if c.what == "" {
			if got := startSpooled(t, o, path); got != "" {
				t.Errorf("%s: %s", what, got)
			}
			continue
		}
		checkForeignSpools(t, o, path, what, c.what)
	}
}

func withoutDestinations(o Options) Options {
	o.Carbon.Forward.Addresses, o.PromConfig = nil, nil
	return o
}

func checkForeignSpools(t *testing.T, o Options, path, what, why string) {
	t.Helper()
	got := startSpooled(t, o, path)
	if !strings.Contains(got, filepath.Join(path, "remote-write", "other")) || !strings.Contains(got, why) {
		t.Errorf("%s: %s, want %s", what, got, why)
	}
	o.Path = path
	var out strings.Builder
	if err := CheckStore(t.Context(), o, false, &out); err == nil || strings.Count(out.String(), "\nspool: ")+strings.Count(out.String()[:7], "spool: ") != 2 {
		t.Errorf("%s: store check: %v\n%s", what, err, out.String())
	}
	out.Reset()
	if err := CheckStore(t.Context(), o, true, &out); err != nil {
		t.Errorf("%s: store check --fix: %v\n%s", what, err, out.String())
	}
	if aside, err := filepath.Glob(filepath.Join(path, "aside", "spool-*")); err != nil || len(aside) != 2 {
		t.Errorf("%s: aside are %v, %v", what, aside, err)
	}
	if got := startSpooled(t, o, path); got != "" {
		t.Errorf("%s: after --fix: %s\n%s", what, got, out.String())
	}
}
