package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tsdbridge/tsdbridge/retry"
)

// A FileStore makes the points of a whole file durable, and returns when they are. path is relative to the
// directory of the import, with slashes. After an error for which asking again makes sense the same file may be
// stored again; a SkipError skips it, and a FinalError ends the import.
type FileStore func(ctx context.Context, path string, data []byte) (points int64, err error)

// A SkipError of a FileStore is about the file, which is skipped. Points are those that are durable all the
// same.
type SkipError struct {
	Err    error
	Points int64
}

// Error returns the text of the error.
func (e SkipError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e SkipError) Unwrap() error { return e.Err }

// TreeOptions are what an import of the files of a directory needs.
type TreeOptions struct {
	Dir, Suffix string // of the files
	Store       FileStore
	// Parallel is how many files are stored at once. FileBytes is the greatest size of a file, HeldBytes that
	// of all that are in memory.
	Parallel             int
	FileBytes, HeldBytes int64
	// Patience is how long a store that fails is asked again.
	Patience time.Duration
	// State is the file that keeps which files are durable; empty: nothing does. Target names the store, and What
	// what is imported of the files: the state of an import of other things is refused.
	State, Target, What string
	// Skipped is told of files that are skipped, Failed of a store that is asked again, Progress of the progress,
	// each Every.
	Skipped  func(path string, err error)
	Failed   func(error)
	Progress func(Progress)
	Every    time.Duration
	Now      func() time.Time
}

// DefaultTreeOptions returns the options for files that are read as a whole.
func DefaultTreeOptions() TreeOptions {
	d := DefaultImportOptions()
	return TreeOptions{Parallel: d.Parallel, FileBytes: 512 << 20, HeldBytes: 768 << 20, Patience: d.Patience, Every: d.Every, Now: d.Now}
}

// ImportTree imports the files below a directory. When it returns without an error, all points are durable but
// those of the files that were skipped.
func ImportTree(ctx context.Context, o TreeOptions) (Progress, error) {
	t := &treeRun{TreeOptions: o, begun: o.Now(), memory: semaphore.NewWeighted(o.HeldBytes)}
	var err error
	if t.state, err = openTreeState(o); err != nil {
		return Progress{}, fmt.Errorf("state: %w", err)
	}
	if err := t.list(ctx); err != nil {
		return Progress{}, err
	}
	if err := t.state.begin(t.files); err != nil {
		return Progress{}, err
	}
	err = t.all(ctx)
	return t.progress(), errors.Join(err, t.state.save())
}

// treeRun is an import of a directory.
type treeRun struct {
	TreeOptions
	state  *treeState
	begun  time.Time
	memory *semaphore.Weighted
	files  []treeFile // by path

	mu   sync.Mutex // guards what follows
	read int64      // bytes of files that are done
	done int
	now  Progress // points and skipped files of this run
}

// A treeFile is a file to import.
type treeFile struct {
	path string
	size int64
}

// list finds the files. Links to directories are not followed.
func (t *treeRun) list(ctx context.Context) error {
	err := filepath.WalkDir(t.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), t.Suffix) {
			return nil
		}
		info, err := os.Stat(path) // of what a link shows
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // it is gone, or a link to nothing
		}
		rel, err := filepath.Rel(t.Dir, path)
		t.files = append(t.files, treeFile{filepath.ToSlash(rel), info.Size()})
		return err
	})
	if err != nil {
		return err
	}
	if len(t.files) == 0 {
		return fmt.Errorf("%s: no file's name ends with %s", t.Dir, t.Suffix)
	}
	slices.SortFunc(t.files, func(a, b treeFile) int { return strings.Compare(a.path, b.path) })
	return nil
}

func (t *treeRun) progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.now
	p.Files, p.Done, p.Read, p.Took = len(t.files), t.done, t.read, t.Now().Sub(t.begun)
	for _, f := range t.files {
		p.Size += f.size
	}
	var skipped int64
	p.Before, skipped = t.state.before()
	p.Size -= t.state.doneBytes
	p.Skipped += skipped
	return p
}

func (t *treeRun) all(ctx context.Context) error {
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(watch) })
	defer watching.Wait()
	defer stop()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(t.Parallel)
	for i, f := range t.files {
		if t.state.isDone(i) {
			t.mu.Lock()
			t.done++
			t.mu.Unlock()
			continue
		}
		held := min(f.size, t.HeldBytes)
		if err := t.memory.Acquire(groupCtx, held); err != nil {
			break
		}
		group.Go(func() error {
			defer t.memory.Release(held)
			if err := t.file(groupCtx, i); err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// watch writes the state, and tells of the progress, until ctx ends.
func (t *treeRun) watch(ctx context.Context) {
	for told := t.begun; retry.Sleep(ctx, saveEvery); {
		_ = t.state.saveChanged() // the end of the import tells of an error that stays
		if t.Progress != nil && t.Now().Sub(told) >= t.Every {
			told = t.Now()
			t.Progress(t.progress())
		}
	}
}

// file imports one file.
func (t *treeRun) file(ctx context.Context, i int) error {
	f := t.files[i]
	points, err := t.store(ctx, f)
	skip, skipped := errors.AsType[SkipError](err)
	if err != nil && !skipped {
		return err
	}
	if skipped {
		points = skip.Points
		if t.Skipped != nil {
			t.Skipped(f.path, skip.Err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	t.read += f.size
	t.now.Points += points
	if skipped {
		t.now.Skipped++
	}
	t.state.finish(i, points, skipped)
	return nil
}

// store reads a file and stores it.
func (t *treeRun) store(ctx context.Context, f treeFile) (points int64, err error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if f.size > t.FileBytes {
		return 0, SkipError{Err: fmt.Errorf("it has %d bytes; at most %d are read", f.size, t.FileBytes)}
	}
	data, err := os.ReadFile(filepath.Join(t.Dir, filepath.FromSlash(f.path)))
	if err != nil {
		return 0, SkipError{Err: plainCause(err)}
	}
	err = asking{t.Patience, t.Failed, t.Now}.do(ctx, func() (err error) {
		points, err = t.Store(ctx, f.path, data)
		if skip, ok := errors.AsType[SkipError](err); ok {
			return FinalError{skip}
		}
		return err
	})
	return points, err
}
