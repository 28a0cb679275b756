package pebble

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// asideName is the folder, in that of a store, of files that were taken out of it and are kept for
// people to look at.
const asideName = "aside"

// keeper keeps the tables that Pebble finds unlisted when it opens a store without a mark: it is
// unknown whether the MANIFEST that does not list them lost its end. With a mark the MANIFEST is
// known to be whole, and such tables are what a crash left.
type keeper struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex // guards all below
	before []string   // tables that were there; those that are listed go, once that is known
	known  bool
	kept   []string
}

// orphans takes which tables the opened store lists: they may be removed when their turn comes.
func (k *keeper) orphans(listed func(name string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before, k.known = slices.DeleteFunc(k.before, listed), true
}

// keep puts a file aside instead of removing it, if it is an orphan.
func (k *keeper) keep(files vfs.FS, name string) (kept bool, err error) {
	base := files.PathBase(name)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.before, base) {
		return false, nil
	}
	if err := moveAside(files, k.path, base); err != nil {
		return true, err
	}
	k.kept = append(k.kept, base)
	k.log.Warn("embedded store: a table that the store does not list is moved to the directory aside; if the store was damaged before, its points are there, else it may be removed",
		"file", files.PathJoin(k.path, asideName, base))
	return true, nil
}

// moveAside moves a file of a store into the folder for such.
func moveAside(files vfs.FS, path, name string) error {
	dir := files.PathJoin(path, asideName)
	if err := files.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	if err := files.Rename(files.PathJoin(path, name), files.PathJoin(dir, name)); err != nil {
		return err
	}
	return syncFolder(files, dir)
}
