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
	"log/slog"
	"slices"
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
	// LockWait is how long a folder that another process has open is tried again.
	LockWait time.Duration
	// Tables are the tables to serve, beside those that the store has already.
	Tables []kv.Table

	restoring bool // opened by Restore
	repairing bool // opened by Check or Repair
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
	damages  damages
	path     string
	own      *owned       // nil in memory
	keep     *keeper      // not nil where a store without a mark was found
	fresh    bool         // the store was made by Open
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
	e := &Engine{files: files, durability: pebble.Sync, log: orDiscard(o.Logger), room: newRoom(o, files), path: o.Path}
	e.damages.log = e.log
	e.idle = sync.NewCond(&e.mu)
	if o.InMemory {
		e.durability = pebble.NoSync
	}
	if err := e.take(o); err != nil {
		return nil, err
	}
	var err error
	if e.db, err = pebble.Open(o.Path, e.options(o)); err != nil {
		return nil, errors.Join(toldOpening(err, e.files, o.Path), e.release())
	}
	if err := e.loadFor(o, wall); err != nil {
		return nil, errors.Join(told(err), e.Close())
	}
	e.room.opened.Store(true)
	return e, nil
}

// take makes the folder the process' own, after a look at what is in it.
func (e *Engine) take(o Options) error {
	if o.InMemory {
		return nil
	}
	// Before anything is made there. Whatever else it says may be another process at work.
	if _, err := inspect(o.Path, e.files, o.restoring); errors.Is(err, ErrForeign) || errors.Is(err, ErrRestoring) {
		return err
	}
	if err := e.files.MkdirAll(o.Path, folderMode); err != nil {
		return err
	}
	var err error
	if e.lock, err = lockFolder(o.Path, e.files, o.LockWait); err != nil {
		return err
	}
	var found *inspection
	if found, err = inspect(o.Path, e.files, o.restoring); err == nil { // nobody changes it any more
		e.fresh = !found.has(manifestMarker)
		if !found.marked && !e.fresh {
			e.keep = &keeper{path: o.Path, log: e.log, before: slices.DeleteFunc(found.names, func(n string) bool { return !isTable(n) })}
		}
		e.own, err = keepOwned(e.files, o.Path, found.owned)
	}
	if err == nil && slices.Contains(found.names, sumsName) { // a backup that is opened where it lies is none any more
		err = e.files.Remove(e.files.PathJoin(o.Path, sumsName))
	}
	if err != nil {
		return errors.Join(err, e.release())
	}
	return nil
}

// release lets go of what take took.
func (e *Engine) release() error {
	var err error
	if e.own != nil {
		err = e.own.close()
	}
	if e.lock != nil {
		err = errors.Join(err, e.lock.Close())
	}
	return err
}

// options are Pebble's.
func (e *Engine) options(o Options) *pebble.Options {
	files := &ownedFS{FS: roomFS{fullFS{e.files, e.room}, e.room}, path: o.Path, own: e.own, real: e.files == vfs.Default, keep: e.keep}
	options := tuned(o, files)
	options.EventListener = e.listener(o.Logger)
	options.Lock = e.lock
	o.forRepair(options)
	return options
}

// welcome says what is worth knowing about the store that was found.
func (e *Engine) welcome(version uint64) error {
	if e.own == nil {
		return nil
	}
	if e.keep != nil {
		if err := e.keepOrphans(); err != nil {
			return err
		}
	}
	switch {
	case e.fresh:
		e.log.Warn("embedded store: there was none, a new one is begun", "path", e.path)
	case e.keep != nil && version >= formatMarked:
		e.damages.met(e.files.PathJoin(e.path, markName), errors.New("it is missing: whether all is there that was acknowledged cannot be told"))
	}
	return nil
}

// keepOrphans tells the keeper which tables the store lists.
func (e *Engine) keepOrphans() error {
	levels, err := e.db.SSTables()
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, tables := range levels {
		for _, t := range tables {
			listed[tableName(uint64(t.BackingSSTNum))] = true
		}
	}
	e.keep.orphans(func(name string) bool { return listed[name] })
	return nil
}

func tableName(number uint64) string { return fmt.Sprintf("%06d.sst", number) }

// loadFor is load; who repairs a store goes on where what it says about itself is what is damaged.
func (e *Engine) loadFor(o Options, wall func() int64) error {
	err := e.load(o.Tables, wall)
	if err == nil || !o.repairing || !errors.Is(told(err), kv.ErrDamaged) {
		return err
	}
	e.families = make(map[familyName]byte) // as they are given to a new store
	for _, t := range o.Tables {
		for _, f := range t.Families {
			e.families[familyName{t.Name, f}] = byte(len(e.families) + 1)
		}
	}
	return nil
}

// load reads what the store says about itself and adds what is missing.
func (e *Engine) load(tables []kv.Table, wall func() int64) (err error) {
	version, err := checkFormat(e.db, e.durability)
	if err != nil {
		return err
	}
	if err := e.welcome(version); err != nil {
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
	flushed := e.flushed()
	err := e.db.Close()
	if flushed && err == nil && e.own != nil {
		err = e.own.releaseLogs()
	}
	return errors.Join(err, e.release())
}

// hasRoom tries whether a file can be made and written: a disk may have blocks and no files left, or a quota.
func (e *Engine) hasRoom() bool {
	name := e.files.PathJoin(e.path, "room"+newSuffix)
	f, err := e.files.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close(), e.files.Remove(name)) == nil
}

// flushTime is how long the end of a store waits for its memory to be put into tables. What is not stays in Pebble's log.
const flushTime = 30 * time.Second

// flushed puts what is in memory into tables, if there is room on the disk. Tables have sums, and the manifest that lists them is known to the mark; the end
// of a log that is damaged looks like that of one that held less.
func (e *Engine) flushed() bool {
	if !e.durability.Sync || !e.room.has(quartersFlush) || !e.hasRoom() {
		return false
	}
	done, err := e.db.AsyncFlush()
	if err != nil {
		e.log.Warn("embedded store: memory is not put into tables at the end; the next start reads Pebble's log", "err", err)
		return false
	}
	late := time.NewTimer(flushTime)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		e.log.Warn("embedded store: memory was not put into tables in time; the next start reads Pebble's log", "waited", flushTime)
		return false
	}
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
