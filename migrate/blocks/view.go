package blocks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"
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

// openView opens blocks together, and the head of their directory if it is wanted. Of a checkpoint that is
// damaged, what comes before the damage is taken: Prometheus does not start over one.
func openView(o Options, blocks []*block, head bool) (*view, error) {
	v, err := linkView(o, blocks, head)
	if err != nil {
		return nil, err
	}
	if err = v.open(); err == nil {
		return v, nil
	}
	if err = errors.Join(err, v.close()); !head {
		return nil, err
	}
	if v, again := linkView(o, blocks, head); again == nil {
		cut, again := v.cutCheckpoint()
		if again == nil && cut {
			again = v.open()
		}
		if again == nil && cut {
			return v, nil
		}
		err = errors.Join(err, v.close())
	}
	return nil, err
}

// linkView makes a view that is not open.
func linkView(o Options, blocks []*block, head bool) (v *view, err error) {
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
	if head {
		if err := errors.Join(v.closeGaps(walDir), v.closeGaps(wblDir)); err != nil {
			return nil, errors.Join(err, v.close())
		}
	}
	return v, nil
}

// closeGaps gives the segments of a log numbers without a gap, if some are missing: a Prometheus removes some while
// its directory is copied. A TSDB refuses a log with gaps.
func (v *view) closeGaps(name string) error {
	dir := filepath.Join(v.dir, name)
	checkpoint, all, err := segmentsOf(dir)
	if err != nil || len(all) == 0 {
		return err
	}
	last := all[0] - 1
	if checkpoint >= 0 {
		last = checkpoint
	}
	next := last + 1
	for _, n := range all {
		segment := wlog.SegmentName(dir, n)
		if n <= last { // all of it is in the checkpoint
			err = errors.Join(err, os.Remove(segment))
			continue
		}
		if n > last+1 {
			v.warns.add(fmt.Errorf("%s: segments %08d to %08d are missing", name, last+1, n-1))
		}
		if n > next {
			err = errors.Join(err, os.Rename(segment, wlog.SegmentName(dir, next)))
		}
		last, next = n, next+1
	}
	return err
}

// open opens the TSDB. Over a damaged write-ahead log it repairs that in the view, and does not read what came
// out of order: then it is opened again.
func (v *view) open() (err error) {
	o := tsdb.DefaultOptions()
	o.RetentionDuration, o.MaxBytes, o.NoLockfile, o.EnableSharding = 0, 0, true, true
	o.EnableMemorySnapshotOnShutdown, o.IsolationDisabled, o.EnableSTStorage = false, true, false
	o.BlockReloadInterval = noReload
	for range 2 {
		if v.DB, err = tsdb.Open(v.dir, slog.New(v.warns), nil, o, nil); err != nil {
			return err
		}
		v.DisableCompactions()
		if !v.warns.repaired() {
			return nil
		}
		if err := v.Close(); err != nil {
			return err
		}
		v.DB = nil
	}
	return errors.New("the write-ahead log stays damaged")
}

// cutCheckpoint cuts the last checkpoint where its damage begins; false: it is not damaged.
func (v *view) cutCheckpoint() (cut bool, err error) {
	dir, _, err := wlog.LastCheckpoint(filepath.Join(v.dir, walDir))
	if err != nil {
		return false, err
	}
	old := dir + ".damaged" // no name of a checkpoint
	if err := os.Rename(dir, old); err != nil {
		return false, err
	}
	from, err := wlog.NewSegmentsReader(old)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, from.Close(), os.RemoveAll(old)) }()
	to, err := wlog.New(slog.New(slog.DiscardHandler), nil, dir, compression.None)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	r := wlog.NewReader(from)
	for r.Next() {
		if err := to.Log(r.Record()); err != nil {
			return false, err
		}
	}
	if err := r.Err(); err != nil {
		v.warns.add(fmt.Errorf("checkpoint: %w", err))
		return true, nil
	}
	return false, nil
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
	mu      sync.Mutex // guards what follows
	all     []error
	repairs int // that repaired has reported
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
	w.add(errors.New(text))
	return nil
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, err)
}

// repaired reports whether a write-ahead log was repaired, once for each time.
func (w *warnings) repaired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, err := range w.all {
		if strings.Contains(err.Error(), "WAL read error") {
			n++
		}
	}
	again := n > w.repairs
	w.repairs = n
	return again
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
