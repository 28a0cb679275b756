package pebble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A diskSpace is the free space of the store's disk, and decides which writers may still use it. A
// disk that is full stops Pebble for good as soon as its log cannot be written. So the writers that
// can wait are stopped before, one after the other, and the log never is:
//
//	below 4/4 of MinFreeBytes   points and series are refused (storage.ErrFull); these writes do not wait
//	below 3/4                   rows that are put after they were in the write log, which free its files
//	below 2/4                   compactions wait; they need space before they free some
//	below 1/4                   flushes of memory wait; they free the log's files
//
// When there is space again, all continue. Writes of other processes between two measurements of
// the free space are not noticed: the log may still meet a full disk (see die).
type diskSpace struct {
	files vfs.FS
	path  string
	min   uint64 // bytes; 0: no limit
	log   *slog.Logger

	opened  atomic.Bool   // until then nothing waits
	ending  chan struct{} // closed when the engine is: nothing waits any more
	begin   time.Time
	looked  atomic.Int64  // when free was read, after begin
	free    atomic.Uint64 // bytes
	short   atomic.Bool   // writes are refused
	refused atomic.Int64  // how many were
	// the writers that wait on a disk that takes no writes, independent of min
	stuck atomic.Int64

	copies  sync.Map              // folders of copies being made, whose writers do not wait
	stuckBy atomic.Pointer[error] // what the last of them met
	read    atomic.Pointer[error] // why the store is only read; nil: it takes writes
}

// The quarters of MinFreeBytes below which a kind of writer is stopped.
const (
	quartersWrite   = 4
	quartersPut     = 3
	quartersCompact = 2
	quartersFlush   = 1
)

const (
	lookEvery = 20 * time.Millisecond  // for writes
	waitEvery = 500 * time.Millisecond // for compactions and flushes
)

func newDiskSpace(o Options, files vfs.FS) *diskSpace {
	r := &diskSpace{files: files, path: o.Path, log: orDiscard(o.Logger), ending: make(chan struct{}), begin: time.Now()}
	if !o.InMemory && o.MinFreeBytes > 0 {
		r.min = uint64(o.MinFreeBytes)
	}
	r.looked.Store(-int64(lookEvery))
	r.free.Store(^uint64(0)) // until the first look
	return r
}

// look returns the free bytes, as they were a moment ago. A file system that does not report them
// always has enough.
func (r *diskSpace) look() uint64 {
	now, last := int64(time.Since(r.begin)), r.looked.Load()
	if now-last < int64(lookEvery) || !r.looked.CompareAndSwap(last, now) {
		return r.free.Load()
	}
	free := ^uint64(0)
	if usage, err := r.files.GetDiskUsage(r.path); err == nil {
		free = usage.AvailBytes
	}
	r.free.Store(free)
	switch short := free < r.min; {
	case short == r.short.Load():
	case short && r.short.CompareAndSwap(false, true):
		r.log.Warn("embedded store: too little free disk space, writes are refused; free space, or see --storage.min-free-bytes", "free_bytes", free, "want_bytes", r.min)
	case !short && r.short.CompareAndSwap(true, false):
		r.log.Info("embedded store: the disk has enough free space again", "free_bytes", free)
	}
	return free
}

// has reports whether there is more than so many quarters of the minimum.
func (r *diskSpace) has(quarters uint64) bool { return r.min == 0 || r.look() >= r.min/4*quarters }

// waits returns what writers wait for on a disk that takes no writes; nil: they do not.
func (r *diskSpace) waits() error {
	if r.stuck.Load() == 0 {
		return nil
	}
	return refusal(r.path, *r.stuckBy.Load())
}

// want refuses a write for which there is no space.
func (r *diskSpace) want(quarters uint64) error {
	if err := r.reading(); err != nil {
		r.refused.Add(1)
		return err
	}
	if err := r.waits(); err != nil {
		r.refused.Add(1)
		return err
	}
	if r.has(quarters) {
		return nil
	}
	r.refused.Add(1)
	return fmt.Errorf("%w: less than --storage.min-free-bytes=%d are free for %s", storage.ErrFull, r.min, r.path)
}

// refuse refuses all writes, because of what an opening for writing met.
func (r *diskSpace) refuse(why error) {
	err := refusal(r.path, why)
	if !takesNoWrites(why) {
		err = fmt.Errorf("%w: %s is only read: %w", storage.ErrFull, r.path, why)
	}
	r.read.Store(&err)
}

// reading returns why nothing can be changed; nil: it can.
func (r *diskSpace) reading() error {
	if err := r.read.Load(); err != nil {
		return *err
	}
	return nil
}

// refuses reports whether writes are refused at the moment.
func (r *diskSpace) refuses() bool { return r.short.Load() || r.stuck.Load() > 0 || r.reading() != nil }

// wait returns when there is space, or when the engine ends.
func (r *diskSpace) wait(quarters uint64) error {
	if !r.opened.Load() || r.has(quarters) {
		return nil
	}
	again := time.NewTicker(waitEvery)
	defer again.Stop()
	for {
		select {
		case <-r.ending:
			return syscall.ENOSPC
		case <-again.C:
			if r.has(quarters) {
				return nil
			}
		}
	}
}

// whileFree returns a context that ends, with the reason as its cause, when there is not the space for a kind of writer:
// a caller then need not wait for writers that do. The caller calls stop.
func (r *diskSpace) whileFree(ctx context.Context, quarters uint64) (_ context.Context, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	look := func() {
		if err := r.want(quarters); err != nil {
			end(err)
		}
	}
	look()
	go func() {
		again := time.NewTicker(waitEvery)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				look()
			}
		}
	}()
	return ctx, func() { end(nil) }
}

// orFail does work, or fails while there is not the space for a kind of writer. What waits for space by then goes on without
// the caller.
func (r *diskSpace) orFail(ctx context.Context, quarters uint64, work func(ctx context.Context) error) error {
	ctx, stop := r.whileFree(ctx, quarters)
	done := make(chan error, 1)
	go func() {
		defer stop()
		done <- work(ctx)
	}()
	ended := func(err error) error {
		if full := context.Cause(ctx); err != nil && full != nil && !errors.Is(full, context.Canceled) {
			return full
		}
		return err
	}
	select {
	case err := <-done:
		return ended(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done: // it ended just now
		return ended(err)
	default:
		return context.Cause(ctx)
	}
}

// spaceFS makes the writers of large files wait for space.
type spaceFS struct {
	vfs.FS
	space *diskSpace
}

// Create implements vfs.FS. The categories are Pebble's names of its writers.
func (f spaceFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	var err error
	switch category {
	case "pebble-compaction", "pebble-blob-file-rewrite":
		err = f.space.wait(quartersCompact)
	case "pebble-memtable-flush":
		err = f.space.wait(quartersFlush)
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	file, err := f.FS.Create(name, category)
	if err != nil && category == "pebble-memtable-flush" {
		f.space.rest()
	}
	return file, err
}

// rest makes a flush that failed wait, because Pebble tries again at once.
func (r *diskSpace) rest() {
	wait := time.NewTimer(waitEvery)
	defer wait.Stop()
	select {
	case <-r.ending:
	case <-wait.C:
	}
}

// Unwrap implements vfs.FS.
func (f spaceFS) Unwrap() vfs.FS { return f.FS }

// DiskSpace implements kv.Local.
func (e *folder) DiskSpace() error { return e.space.want(quartersWrite) }

// FreeBytes returns the free space of the disk of a directory.
func FreeBytes(dir string) (uint64, error) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	return usage.AvailBytes, err
}
