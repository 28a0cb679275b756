package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
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
	source, err := filepath.Abs(o.Dir)
	if err != nil {
		return Progress{}, err
	}
	p := PiecesOptions{
		Parallel: o.Parallel, HeldBytes: o.HeldBytes, Patience: o.Patience, State: o.State, Source: source, Target: o.Target,
		What: o.What, Skipped: o.Skipped, Failed: o.Failed, Progress: o.Progress, Every: o.Every, Now: o.Now,
	}
	if _, err := openTreeState(p); err != nil { // before the files: the state of another import tells what is wrong
		return Progress{}, fmt.Errorf("state: %w", err)
	}
	files, err := o.list(ctx)
	if err != nil {
		return Progress{}, err
	}
	p.Pieces = files
	p.Store = func(ctx context.Context, i int) (int64, error) { return o.store(ctx, p.asking(), files[i]) }
	return ImportPieces(ctx, p)
}

// list finds the files. Links to directories are not followed.
func (o *TreeOptions) list(ctx context.Context) (files []Piece, err error) {
	err = filepath.WalkDir(o.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), o.Suffix) {
			return nil
		}
		info, err := os.Stat(path) // of what a link shows
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // it is gone, or a link to nothing
		}
		rel, err := filepath.Rel(o.Dir, path)
		files = append(files, Piece{Name: filepath.ToSlash(rel), Size: info.Size(), Held: info.Size()})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file's name ends with %s", o.Dir, o.Suffix)
	}
	slices.SortFunc(files, func(a, b Piece) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// store reads a file and stores it.
func (o *TreeOptions) store(ctx context.Context, again Asking, f Piece) (points int64, err error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if f.Size > o.FileBytes {
		return 0, SkipError{Err: fmt.Errorf("it has %d bytes; at most %d are read", f.Size, o.FileBytes)}
	}
	data, err := os.ReadFile(filepath.Join(o.Dir, filepath.FromSlash(f.Name)))
	if err != nil {
		return 0, SkipError{Err: plainCause(err)}
	}
	err = again.Again(ctx, func() (err error) {
		points, err = o.Store(ctx, f.Name, data)
		if skip, ok := errors.AsType[SkipError](err); ok {
			return FinalError{skip}
		}
		return err
	})
	return points, err
}
