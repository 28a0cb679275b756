package maintain

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// What root does to the store of a service leaves no file there that the service cannot open.
func TestFilesBelongToTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files in the folder of another user that are not the user's")
	}
	const service = 12345
	o := adaptertest.Options(t, write.Buffered)
	if err := os.MkdirAll(o.Path, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(o.Path, service, service); err != nil {
		t.Fatal(err)
	}
	run := func(what string, f func() error) {
		t.Helper()
		if err := f(); err != nil {
			t.Fatal(what, err)
		}
		for _, name := range notOf(t, o.Path, service) {
			t.Errorf("%s left %s to root", what, name)
		}
	}
	var out strings.Builder
	backup := filepath.Join(t.TempDir(), "backup")
	run("a start", func() error {
		_, stop := adaptertest.Run(t, o)
		stop()
		return nil
	})
	run("backup", func() error { return Backup(t.Context(), o, StoreOptions{Dir: backup}, &out) })
	run("compact", func() error { return CompactTables(t.Context(), o, StoreOptions{}, &out) })
	run("check", func() error { return adapter.CheckStore(t.Context(), o, true, &out) })
	if err := os.RemoveAll(o.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(o.Path, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(o.Path, service, service); err != nil {
		t.Fatal(err)
	}
	run("restore", func() error { return Restore(t.Context(), o, StoreOptions{Dir: backup}, &out) })
}

// notOf returns what in a folder belongs to somebody else.
func notOf(t *testing.T, dir string, uid uint32) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if stat, ok := info.Sys().(*syscall.Stat_t); err == nil && (!ok || stat.Uid != uid || stat.Gid != uid) {
			names = append(names, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}
