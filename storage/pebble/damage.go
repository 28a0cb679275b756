package pebble

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
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
		d.log.Error("embedded store: a file is damaged; what it held fails to be read, the rest goes on. \"tsdbridge store check\" tells what is lost",
			"file", path, "err", detail)
	}
}

func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.files)
}

// Damaged are the files that were found damaged since the store was opened.
func (e *Engine) Damaged() []string {
	e.damages.mu.Lock()
	defer e.damages.mu.Unlock()
	return slices.Clone(e.damages.files)
}

// told makes kv.ErrDamaged, with the name of the file, of what Pebble says about one.
func told(err error) error {
	if err == nil || errors.Is(err, kv.ErrDamaged) {
		return err
	}
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%w: %s: %w", kv.ErrDamaged, info.Path, info.Details)
	}
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", kv.ErrDamaged, err)
	}
	return err
}
