package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// memTables is how many memory tables there are most of the time: the one that is written and one
// being flushed.
const memTables = 2

// deleteRangeDelay is how long rows that DeleteRange deleted may wait, in a store without writes,
// until their space comes back.
const deleteRangeDelay = 10 * time.Second

// tuned returns Pebble's options for a store. On disk they are for long runs of small changes that
// fold into rows of some kilobytes; in memory for stores that are opened by the hundred and hold
// little.
func tuned(o Options, files vfs.FS) *pebble.Options {
	options := &pebble.Options{
		FS:                          files,
		FormatMajorVersion:          pebble.FormatNewest, // the zero value is the oldest
		Merger:                      newMerger(),
		MemTableSize:                64 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                cmp.Or(o.OpenFiles, DefaultOpenFiles),
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		BytesPerSync:                1 << 20,
		FlushDelayDeleteRange:       deleteRangeDelay,
		Logger:                      &logger{orDiscard(o.Logger)},
	}
	// Rows of coded cells of 240 points, 10,000 of them: 0.623 bytes a point in blocks of 16 KiB,
	// 0.620 in 32, 0.617 in 64; 0.620 too with stronger compression and 0.700 without any. Coded
	// cells are dense: what compression takes away are keys and what neighbours share. A get of a
	// row costs the more the bigger its block, a scan nearly the same.
	for i := range options.Levels {
		options.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		options.Levels[i].BlockSize = 32 << 10
		options.Levels[i].IndexBlockSize = 256 << 10
	}
	options.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	if o.InMemory {
		// Files are in memory too: a log would keep everything twice.
		options.DisableWAL = true
		options.MemTableSize = 4 << 20
	}
	// Pebble takes the memory of memory tables from that of the cache, to the last byte.
	options.CacheSize = cacheBytes(o) + memTables*int64(options.MemTableSize)
	return options
}

func cacheBytes(o Options) int64 {
	switch {
	case o.CacheBytes > 0:
		return o.CacheBytes
	case o.InMemory:
		return 1 << 20
	}
	return DefaultCacheBytes
}

func (e *folder) listener(log *slog.Logger) *pebble.EventListener {
	log = orDiscard(log)
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if !e.closing.Load() {
				log.Error("embedded store: background work failed, it is tried again", "err", err, "advice", e.advice(err))
			}
		},
		CompactionEnd:  func(info pebble.CompactionInfo) { e.begins.Load().compacted(info.Err) },
		DataCorruption: func(info pebble.DataCorruptionInfo) { e.damages.met(info.Path, info.Details) },
		DiskSlow: func(info pebble.DiskSlowInfo) {
			if !e.space.short.Load() { // otherwise our own flushes wait
				log.Warn("embedded store: slow disk; look at its load", "detail", info.String())
			}
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			e.stalls.Add(1)
			log.Warn("embedded store: writes are held up until compactions catch up; look at the load of disk and processors", "detail", info.Reason)
		},
	}
}

// advice is what to do about an error of background work, empty if nothing is known.
func (e *folder) advice(err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if _, gone := e.files.Stat(e.path); errors.Is(gone, fs.ErrNotExist) {
		return "the folder of the store was deleted: stop the process, restore a backup, and start it again"
	}
	return "files of the store were deleted: stop the process, and run \"tsdbridge store check\""
}

func orDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// logger is a pebble.Logger. What Pebble calls info is news of every flush and compaction.
type logger struct{ to *slog.Logger }

// Infof implements pebble.Logger.
func (l *logger) Infof(format string, args ...any) {
	if l.to.Enabled(context.Background(), slog.LevelDebug) {
		l.to.Debug("embedded store", "detail", fmt.Sprintf(format, args...))
	}
}

// Errorf implements pebble.Logger.
func (l *logger) Errorf(format string, args ...any) {
	l.to.Error("embedded store: an error of Pebble; see docs/maintenance.md", "detail", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. Pebble calls it when the log cannot be written, and what comes
// after could be acknowledged without being durable.
func (l *logger) Fatalf(format string, args ...any) { die(l.to, fmt.Sprintf(format, args...)) }

// die ends the process: the log cannot be written, because the disk is full or broken, and Pebble
// can neither continue nor release its locks. What was acknowledged is in the log and is there
// after a restart. The panic has a goroutine of its own because net/http would recover from a panic
// in the goroutine of a request. die never returns, so its caller acknowledges nothing.
func die(log *slog.Logger, detail string) {
	log.Error("embedded store: cannot write its log, the process ends; free disk space or repair the disk, and start it again", "detail", detail)
	go panic("embedded store: " + detail)
	select {}
}

// dieOfPanic is to be deferred where Pebble writes: it panics with its locks held when a write to
// the log fails.
func (e *folder) dieOfPanic() {
	if reason := recover(); reason != nil {
		die(e.log, fmt.Sprint(reason))
	}
}
