package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
)

// damages are the files that were found damaged since the store was opened.
type damages struct {
	log   *slog.Logger
	mu    sync.Mutex // guards files
	files []string   // in the order in which they were met
}

// met notes a damaged file, and logs each once.
func (d *damages) met(path string, detail error) {
	d.mu.Lock()
	known := slices.Contains(d.files, path)
	if !known {
		d.files = append(d.files, path)
	}
	d.mu.Unlock()
	if !known {
		d.log.Error("embedded store: a file is damaged; reads of what it held fail, the rest works. \"tsdbridge store check\" lists what is lost",
			"file", path, "err", detail)
	}
}

func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files)
}

// Damaged returns the files that were found damaged since the store was opened.
func (e *folder) Damaged() []string {
	e.damages.mu.Lock()
	defer e.damages.mu.Unlock()
	return slices.Clone(e.damages.files)
}

// explain turns Pebble's error about a damaged file into storage.ErrDamaged with the file's name.
func explain(err error) error {
	if err == nil || errors.Is(err, storage.ErrDamaged) {
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%w: %s: %w", storage.ErrDamaged, info.Path, info.Details)
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	}
	return err
}

// explainOpening is explain for errors of opening a store. Pebble's file of options has no
// checksum: the content of a damaged one differs from our options, and Pebble reports that without
// the file's name.
func explainOpening(err error, files vfs.FS, path string) error {
	name := optionsFile(files, path)
	if err == nil || name == "" || errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), "option") && !strings.Contains(err.Error(), "key=value") {
		return explain(err)
	}
	return fmt.Errorf("%w: %s: %w", errOptions, files.PathJoin(path, name), err)
}

// errOptions is storage.ErrDamaged of a file of options, without which a store is whole: Pebble writes a
// new one each time it opens.
var errOptions = fmt.Errorf("%w", storage.ErrDamaged)

// optionsFile returns the name of the latest file of options in a store; empty: there is none.
func optionsFile(files vfs.FS, path string) string {
	names, err := files.List(path)
	if err != nil {
		return ""
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, optionsPrefix) })
	if len(names) == 0 {
		return ""
	}
	return slices.Max(names)
}
