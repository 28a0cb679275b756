package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

func restoreTo(path string) Options {
	return Options{Path: path, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
}

// backedUp makes a backup called "backup" in files, of a store with the rows a and b, in a format
// of the store.
func backedUp(t *testing.T, files vfs.FS, format byte) {
	t.Helper()
	e, err := crashStore(files)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, e, "f", rows("a"))
	e.mustFlush(t)
	apply(t, e, "f", rows("b"))
	if err := e.db().Set(formatKey(), []byte{format}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Checkpoint(t.Context(), "backup"), e.Close()); err != nil {
		t.Fatal(err)
	}
}

func namesIn(t *testing.T, files vfs.FS, dir string) string {
	t.Helper()
	names, err := files.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestRestore restores a backup twice, the second time after rows were added to the first copy, and
// checks that the backup is unchanged.
func TestRestore(t *testing.T) {
	files := vfs.NewMem()
	backedUp(t, files, formatVersion)
	before := namesIn(t, files, "backup")
	for _, to := range []string{"one", "two"} {
		if err := restore(t.Context(), restoreTo(to), "backup", files); err != nil {
			t.Fatal(err)
		}
		e, err := open(restoreTo(to), files, func() int64 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a", "b: q=of b")
		apply(t, e, "f", rows("c"))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := namesIn(t, files, "backup"); after != before {
		t.Errorf("the backup has the files %s, had %s", after, before)
	}
}

// TestRestoreForms: a backup of an earlier format is converted; one of a later format is refused,
// and nothing is left of the attempt.
func TestRestoreForms(t *testing.T) {
	for format, want := range map[byte]string{1: "", formatVersion: "", formatVersion + 1: fmt.Sprint("later version of tsdbridge: format ", formatVersion+1)} {
		files := vfs.NewMem()
		backedUp(t, files, format)
		err := restore(t.Context(), restoreTo("to"), "backup", files)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: %v, want %q", format, err, want)
		}
		if names := namesIn(t, files, "to"); err != nil && names != "" {
			t.Errorf("format %d: left behind: %s", format, names)
		}
	}
}

// TestRestoreFails fails each write to the folder in turn: either nothing is left, or a folder that
// is marked and does not open as a store.
func TestRestoreFails(t *testing.T) {
	refused := 0
	for n := int32(0); ; n++ {
		mem := vfs.NewMem()
		backedUp(t, mem, formatVersion)
		failing := errorfs.Wrap(mem, errorfs.ErrInjected.If(errorfs.And(errorfs.Writes, errorfs.OnIndex(n))))
		err := restore(t.Context(), restoreTo("to"), "backup", failing)
		if err == nil {
			if n == 0 {
				t.Fatal("nothing was failed")
			}
			break
		}
		names := namesIn(t, mem, "to")
		if names == "" {
			continue
		}
		if names = " " + names + " "; !strings.Contains(names, " "+restoringName+" ") {
			// In the last steps only the sync of the mark's removal is missing.
			if e, err := open(restoreTo("to"), mem, func() int64 { return 1 }); err != nil {
				t.Errorf("failure %d: %v; left: %s", n, err, names)
			} else {
				wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a", "b: q=of b")
				_ = e.Close()
			}
			continue
		}
		refused++
		if e, err := open(restoreTo("to"), mem, func() int64 { return 1 }); !errors.Is(err, ErrRestoring) {
			t.Errorf("failure %d: Open: %v, want %v; left: %s", n, err, ErrRestoring, names)
			_ = e.Close()
		}
		if err := restore(t.Context(), restoreTo("to"), "backup", mem); !errors.Is(err, ErrRestoring) {
			t.Errorf("failure %d: restore again: %v, want %v", n, err, ErrRestoring)
		}
	}
	t.Logf("%d failures left a folder that is refused", refused)
}

// TestRestoreCut: a power failure during the copy leaves no store that lacks rows.
func TestRestoreCut(t *testing.T) {
	files := vfs.NewCrashableMem()
	backedUp(t, files, formatVersion)
	for n := range int32(200) {
		mem := files.CrashClone(vfs.CrashCloneCfg{})
		cut := mem
		var mu sync.Mutex // guards cut and count; an open store writes from several goroutines
		count := int32(0)
		watching := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if count++; count == n+1 {
				cut = mem.CrashClone(vfs.CrashCloneCfg{})
			}
			return nil
		}))
		if err := restore(t.Context(), restoreTo("to"), "backup", watching); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		over := count <= n
		mu.Unlock()
		if over {
			return
		}
		e, err := open(restoreTo("to"), cut, func() int64 { return 1 })
		switch {
		case errors.Is(err, ErrRestoring):
			continue
		case err != nil:
			t.Fatalf("cut %d: %v", n, err)
		default:
			got := len(scanned(t, e, kv.Scan{}))
			// Before the mark was written there was nothing.
			if got != 0 && got != 2 || got == 0 && n > 4 {
				t.Errorf("cut %d: %d rows", n, got)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRestoreRefuses folders that are not empty and folders that are not backups; the folder that a
// new file system creates itself counts as empty.
func TestRestoreRefuses(t *testing.T) {
	files := vfs.NewMem()
	backedUp(t, files, formatVersion)
	for _, dir := range []string{"full/other", "new/" + lostName, "nothing", "half.partial"} {
		if err := files.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"backup", "full", ErrNotEmpty}, {"nothing", "x", ErrNoStore}, {"half.partial", "x", ErrNoStore}, {"none", "x", fs.ErrNotExist}, {"backup", "new", nil},
	} {
		if err := restore(t.Context(), restoreTo(c.to), c.from, files); !errors.Is(err, c.want) {
			t.Errorf("restore of %s to %s: %v, want %v", c.from, c.to, err, c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := restore(ended, restoreTo("x"), "backup", files); !errors.Is(err, context.Canceled) {
		t.Errorf("restore that was cancelled: %v", err)
	}
	if names := namesIn(t, files, "x"); names != "" {
		t.Errorf("left behind: %s", names)
	}
}
