// Package pebble is the table contract of storage/kv on a local disk: the embedded engine, over a Pebble
// log-structured merge tree in one folder. One process has it open at a time.
//
// A row of a family is one Pebble entry. Its key is a byte that stands for table and family, then the row key;
// its value is all cells, folded from the changes that Apply added (see cells.go and merge.go). Cells that hold columns of points are
// kept coded, which shows in nothing but the size. It never looks into a row key beyond kv.Match.
package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Options say where and how a store is kept.
type Options struct {
	// Path is the folder of the store; it is created if it is missing. Not used in memory.
	Path string
	// InMemory keeps everything in memory and forgets it at the end.
	InMemory bool
	// CacheBytes is the memory for blocks read from disk, in bytes; 0 is DefaultCacheBytes, or little in memory. Beside
	// it the changes of the last while take up to 256 MiB (in memory: 16 MiB) of memory until they are flushed.
	CacheBytes int64
	// MinFreeBytes is the space on the disk below which writes fail with kv.ErrFull, in bytes; 0: none. Less than a few memory tables
	// (256 MiB) may let the disk run full while the store puts itself in order.
	MinFreeBytes int64
	// Logger takes what goes wrong in the background; nil drops it.
	Logger *slog.Logger
	// Tables are the tables to serve, beside those that the store has already.
	Tables []kv.Table

	restoring bool // opened by Restore
}

// DefaultCacheBytes is the size of the block cache of a store on disk: 64 MiB.
const DefaultCacheBytes = 64 << 20

// What a caller can tell apart.
var (
	// ErrClosed says that the engine was closed.
	ErrClosed = errors.New("engine is closed")
	// ErrInUse says that another process has the folder open.
	ErrInUse = errors.New("another tsdbridge has it open")
)

// Engine is an open store. It implements kv.KV.
type Engine struct {
	db       *pebble.DB
	lock     *pebble.Lock
	files    vfs.FS
	room     *room
	families map[familyName]byte // not changed after Open
	clock    clock
	stalls   atomic.Int64 // how often writes were held up
	log      *slog.Logger
	coders   sync.Pool // of *coder
	// durability is what Apply asks of the log. A store in memory has no log.
	durability *pebble.WriteOptions

	// change is held for reading while a batch is applied, and for writing from the look at a cell to its
	// change by Increment and CheckAndPut. Nobody waits for the disk with it.
	change sync.RWMutex

	mu      sync.Mutex // guards the two below
	running int        // operations under way
	idle    *sync.Cond // running became 0
	closing atomic.Bool
}

// Open opens the store of o and creates what is missing.
func Open(o Options) (*Engine, error) {
	files, path := vfs.FS(vfs.Default), o.Path
	if o.InMemory {
		files, path = vfs.NewMem(), ""
	}
	e, err := open(o, files, func() int64 { return time.Now().UnixMilli() })
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w", path, err)
	}
	return e, nil
}

func open(o Options, files vfs.FS, wall func() int64) (*Engine, error) {
	e := &Engine{files: files, durability: pebble.Sync, log: orDiscard(o.Logger), room: newRoom(o, files)}
	e.idle = sync.NewCond(&e.mu)
	if o.InMemory {
		e.durability = pebble.NoSync
	}
	options := tuned(o, roomFS{files, e.room})
	options.EventListener = e.listener(o.Logger)
	if err := files.MkdirAll(o.Path, 0o755); err != nil {
		return nil, err
	}
	var err error
	if e.lock, err = lockFolder(o.Path, files); err != nil {
		return nil, err
	}
	options.Lock = e.lock
	if err := checkRestored(o.Path, files); err != nil && !o.restoring {
		return nil, errors.Join(err, e.lock.Close())
	}
	if e.db, err = pebble.Open(o.Path, options); err != nil {
		return nil, errors.Join(err, e.lock.Close())
	}
	if err := e.load(o.Tables, wall); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.room.opened.Store(true)
	return e, nil
}

func lockFolder(path string, files vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(path, files)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, err
	}
	return nil, fmt.Errorf("%w: %w", ErrInUse, err)
}

// load reads what the store says about itself and adds what is missing.
func (e *Engine) load(tables []kv.Table, wall func() int64) (err error) {
	if err := checkFormat(e.db, e.durability); err != nil {
		return err
	}
	if e.families, err = loadFamilies(e.db); err != nil {
		return err
	}
	for _, t := range tables {
		for _, f := range t.Families {
			if err := e.addFamily(familyName{t.Name, f}); err != nil {
				return err
			}
		}
	}
	return e.clock.load(e.db, wall)
}

// Close waits for the operations under way, scans end with ErrClosed, and releases the store.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closing.Swap(true) {
		e.mu.Unlock()
		return ErrClosed
	}
	close(e.room.ending)
	for e.running > 0 {
		e.idle.Wait()
	}
	e.mu.Unlock()
	return errors.Join(e.db.Close(), e.lock.Close())
}

// enter begins an operation; Pebble must not be closed under one.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing.Load() {
		return ErrClosed
	}
	e.running++
	return nil
}

func (e *Engine) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running--; e.running == 0 {
		e.idle.Broadcast()
	}
}
