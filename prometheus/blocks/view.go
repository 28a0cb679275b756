package blocks

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/tsdb"
)

// The directories of a head in a data directory.
const (
	walDir   = "wal"
	wblDir   = "wbl"
	headDir  = "chunks_head"
	viewName = "tsdbridge-view-"
)

// A view is a temporary directory with links to the files of a data directory, and a TSDB that is open
// in it. What the TSDB writes, removes or repairs is in the view alone.
type view struct {
	*tsdb.DB

	dir   string
	warns *warnings
}

// openView opens blocks together, and the head of their directory if it is wanted.
func openView(o Options, blocks []*block, head bool) (v *view, err error) {
	v = &view{warns: &warnings{}}
	if v.dir, err = os.MkdirTemp(o.Temp, viewName); err != nil {
		return nil, err
	}
	names := []string{walDir, wblDir, headDir}
	if !head {
		names = nil
	}
	for _, name := range names {
		if err := linkTree(filepath.Join(o.Dir, name), filepath.Join(v.dir, name)); err != nil {
			return nil, errors.Join(err, v.close())
		}
	}
	for _, b := range blocks {
		if err := linkTree(b.Dir(), filepath.Join(v.dir, b.name())); err != nil {
			return nil, errors.Join(err, v.close())
		}
	}
	to := tsdb.DefaultOptions()
	to.RetentionDuration, to.MaxBytes, to.NoLockfile, to.EnableSharding = 0, 0, true, true
	to.EnableMemorySnapshotOnShutdown, to.IsolationDisabled, to.EnableSTStorage = false, true, false
	to.BlockReloadInterval = noReload
	if v.DB, err = tsdb.Open(v.dir, slog.New(v.warns), nil, to, nil); err != nil {
		return nil, errors.Join(err, v.close())
	}
	v.DisableCompactions()
	return v, nil
}

// noReload is longer than a view is open.
const noReload = 1000 * time.Hour

func (v *view) close() error {
	var err error
	if v.DB != nil {
		err = v.Close()
	}
	return errors.Join(err, os.RemoveAll(v.dir))
}

// linkTree makes a directory with links to the files of another one. If there is none, it is empty.
func linkTree(from, to string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	if !isDir(from) {
		return nil
	}
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755) //nolint:gosec // no secret is in it
		}
		return os.Symlink(path, filepath.Join(to, rel))
	})
}

// warnings keeps what a TSDB logs about damage.
type warnings struct {
	mu  sync.Mutex // guards all
	all []error
}

// Enabled implements slog.Handler.
func (*warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += ", " + a.Key + "=" + a.Value.String()
		return true
	})
	if !strings.Contains(text, "error") && !strings.Contains(text, "Unknown series") && !strings.Contains(text, "orrupt") {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, errors.New(text))
	return nil
}

// WithAttrs implements slog.Handler.
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w *warnings) WithGroup(string) slog.Handler { return w }

// damage returns what was logged.
func (w *warnings) damage() (all []Damage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, err := range w.all {
		all = append(all, Damage{"head", err})
	}
	return all
}
