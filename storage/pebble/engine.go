// Package pebble is the table contract of storage/kv on a local disk: the embedded engine, over a
// Pebble log-structured merge tree in one folder. One process has it open at a time.
//
// A row of a family is one Pebble entry. Its key is a byte that stands for table and family, then
// the row key; its value is all cells, folded from the changes that Apply added (see cells.go and
// merge.go). Cells that hold columns of points are kept coded, which callers of kv.KV never see.
// The package never looks into a row key beyond kv.Match.
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

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Options set where and how a store is kept.
type Options struct {
	// Path is the folder of the store; it is created if it is missing. Not used in memory.
	Path string
	// InMemory keeps everything in memory and forgets it at the end.
	InMemory bool
	// CacheBytes is the memory for blocks read from disk, in bytes; 0 is DefaultCacheBytes, or
	// little for a store in memory. In addition, recent changes take up to 256 MiB (in memory: 16
	// MiB) until they are flushed.
	CacheBytes int64
	// MinFreeBytes is the space on the disk below which writes fail with storage.ErrFull, in bytes; 0:
	// none. Less than a few memory tables (256 MiB) may let the disk run full while the store puts
	// itself in order.
	MinFreeBytes int64
	// OpenFiles is how many files of tables are open at most; 0: DefaultOpenFiles.
	OpenFiles int
	// Logger logs errors in the background; nil drops them.
	Logger *slog.Logger
	// LockWait is how long Open waits for a folder that another process has open.
	LockWait time.Duration
	// Tables are the tables to serve, in addition to those that the store has already.
	Tables []kv.Table

	// restoring means that Restore opens the store; repairing, that Check or Repair does; accepting,
	// that Repair does: what tables and marks do not agree about is what the tables say.
	restoring, repairing, accepting bool
}

// DefaultCacheBytes is the size of the block cache of a store on disk: 128 MiB.
const DefaultCacheBytes = 128 << 20

// DefaultOpenFiles is how many files of tables a store has open at most.
const DefaultOpenFiles = 1000

// What a caller can tell apart.
var (
	// ErrClosed means that the engine was closed.
	ErrClosed = errors.New("engine is closed")
	// ErrInUse means that another process has the folder open.
	ErrInUse = errors.New("another tsdbridge has it open")
)

// use counts the operations on the database that are under way.
type use struct {
	now     atomic.Pointer[pebble.DB]
	readers *readers // nil where the store takes writes since Open

	mu      sync.Mutex // guards running, and holding and logEnd of records
	running int
	idle    *sync.Cond // running became 0
	closing atomic.Bool
}

// folder is the files of a database.
type folder struct {
	use
	files   vfs.FS
	space   *diskSpace
	damages damages
	path    string
	stalls  atomic.Int64              // how often writes were held up
	begins  atomic.Pointer[scheduler] // of compactions; nil where nothing is written
	log     *slog.Logger
}

// tableRows reads and writes the rows of the tables.
type tableRows struct {
	folder
	families families // not changed after Open
	clock    clock
	coders   sync.Pool // of *coder
	// durability is what Apply asks of the log. A store in memory has no log.
	durability *pebble.WriteOptions
	// change is held for reading while a batch is applied. Increment and CheckAndPut hold it for
	// writing from the look at a cell to its change. It is never held while waiting for the disk.
	change sync.RWMutex
}

// records are what a store notes of its life and of its log.
type records struct {
	tableRows
	logEnd  kv.LogEnd // where the store is only read, and in memory
	lineage lineage
	holding holding
}

// Engine is an open store. It implements kv.KV.
type Engine struct {
	fresh bool // the store was made by Open
	records
}

// holding is what of a folder a process has.
type holding struct {
	lock  *pebble.Lock
	own   *owned // nil in memory, and where nothing is written
	keep  *keeper
	fresh bool // there was no store
}

// db is Pebble's store. A caller that holds something of it has entered.
func (e *use) db() *pebble.DB { return e.now.Load() }

// Open opens the store of o and creates what is missing.
func Open(o Options) (*Engine, error) {
	files, path := onDisk(), o.Path
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
	e := &Engine{}
	e.files, e.durability, e.log, e.space, e.path = files, pebble.Sync, orDiscard(o.Logger), newDiskSpace(o, files), o.Path
	e.damages.log, e.clock.wall = e.log, wall
	e.idle = sync.NewCond(&e.mu)
	if o.InMemory {
		e.durability = pebble.NoSync
	}
	h, err := e.openWriting(o, holding{})
	if takesNoWrites(err) && !o.InMemory && !o.restoring && !o.repairing {
		if err = e.openReading(o, err); err == nil {
			return e, nil
		}
	}
	if err != nil {
		return nil, err
	}
	e.holding, e.fresh = h, h.fresh
	return e, nil
}

// openWriting opens the store to be read and changed. Of the folder the caller may have something;
// what is returned is to be released.
func (e *Engine) openWriting(o Options, has holding) (h holding, err error) {
	if h, err = e.take(o, has); err != nil {
		return has, err
	}
	options := e.options(o, h)
	begins := newScheduler(!h.fresh && !o.InMemory && !o.restoring && !o.repairing)
	options.Experimental.CompactionScheduler = begins
	db, err := pebble.Open(o.Path, options)
	if err != nil {
		return has, errors.Join(explainOpening(err, e.files, o.Path), h.releaseBut(has))
	}
	if err := e.loadFor(db, o, h); err != nil {
		return has, errors.Join(explain(err), db.Close(), h.releaseBut(has))
	}
	e.begins.Store(begins)
	e.now.Store(db)
	e.space.opened.Store(true)
	return h, nil
}

// take makes the folder the process' own, after a look at what is in it.
func (e *folder) take(o Options, has holding) (h holding, err error) {
	if h = has; o.InMemory {
		return h, nil
	}
	// This check comes before anything is made there. Other findings may be the work of another
	// process.
	if _, err := inspect(o.Path, e.files, o.restoring); errors.Is(err, ErrForeign) || errors.Is(err, ErrRestoring) {
		return h, err
	}
	if err := e.files.MkdirAll(o.Path, folderMode); err != nil {
		return h, err
	}
	if h.lock == nil {
		if h.lock, err = lockFolder(o.Path, e.files, o.LockWait); err != nil {
			return h, err
		}
	}
	if err := e.takeFiles(o, &h); err != nil {
		return has, errors.Join(err, h.releaseBut(has))
	}
	return h, nil
}

// takeFiles checks the files of a folder, which no other process changes any more, and begins to
// keep its mark.
func (e *folder) takeFiles(o Options, h *holding) error {
	found, err := inspect(o.Path, e.files, o.restoring)
	if err != nil {
		return err
	}
	if err := e.spaceToOpen(found); err != nil {
		return err
	}
	h.fresh = !found.has(manifestMarker)
	if err := e.checkMarked(o, found); err != nil {
		return err
	}
	if !found.marked && !h.fresh {
		h.keep = &keeper{path: o.Path, log: e.log, before: slices.DeleteFunc(found.names, func(n string) bool { return !isTable(n) })}
	}
	if h.own, err = keepOwned(e.files, o.Path, found.owned, e.log); err != nil {
		return err
	}
	// a backup that is opened where it lies is none any more
	if slices.Contains(found.names, sumsName) {
		return e.files.Remove(e.files.PathJoin(o.Path, sumsName))
	}
	return nil
}

// release releases a folder.
func (h holding) release() error { return h.releaseBut(holding{}) }

// releaseBut releases what was not held before.
func (h holding) releaseBut(before holding) error {
	var err error
	if h.own != nil && before.own == nil {
		err = h.own.close()
	}
	if h.lock != nil && before.lock == nil {
		err = errors.Join(err, h.lock.Close())
	}
	return err
}

// options are Pebble's.
func (e *folder) options(o Options, h holding) *pebble.Options {
	files := &ownedFS{FS: spaceFS{fullFS{e.files, e.space}, e.space}, path: o.Path, own: h.own, real: e.files == onDisk(), keep: h.keep, readers: e.readers}
	options := tuned(o, files)
	options.EventListener = e.listener(o.Logger)
	options.Lock = h.lock
	o.forRepair(options)
	return options
}

// welcome logs what is worth knowing about the store that was found.
func (e *folder) welcome(db *pebble.DB, h holding) error {
	if h.own == nil {
		return nil
	}
	if h.keep != nil {
		if err := keepOrphans(db, h.keep); err != nil {
			return err
		}
	}
	if h.fresh {
		e.log.Warn("embedded store: there was none, a new one is created; if there should be one, stop the process and correct --storage.path", "path", e.path)
	}
	return nil
}

// keepOrphans gives a keeper the tables that the store lists.
func keepOrphans(db *pebble.DB, keep *keeper) error {
	levels, err := db.SSTables()
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, tables := range levels {
		for _, t := range tables {
			listed[tableName(uint64(t.BackingSSTNum))] = true
		}
	}
	keep.orphans(func(name string) bool { return listed[name] })
	return nil
}

func tableName(number uint64) string { return fmt.Sprintf("%06d.sst", number) }

// loadFor calls load. A repair continues even if the store's own records are damaged.
func (e *Engine) loadFor(db *pebble.DB, o Options, h holding) error {
	err := e.load(db, o, h)
	if err == nil || !o.repairing || errors.Is(err, errMixed) || !errors.Is(explain(err), storage.ErrDamaged) {
		return err
	}
	e.families = make(families) // as they are given to a new store
	e.families.add(o.Tables)
	return nil
}

// load reads the store's own records and adds what is missing.
func (e *Engine) load(db *pebble.DB, o Options, h holding) error {
	version, err := checkFormat(db)
	if err != nil {
		return err
	}
	if err := e.loadLineage(db, version, o, h); err != nil {
		return err
	}
	if err := e.welcome(db, h); err != nil {
		return err
	}
	families, err := loadFamilies(db)
	if err != nil {
		return err
	}
	for _, name := range families.add(o.Tables) {
		if err := saveFamily(db, name, families[name], e.durability); err != nil {
			return err
		}
	}
	if e.families == nil { // else what reads it has it already
		e.families = families
	}
	return e.clock.load(db)
}

// Close waits for the operations under way, scans end with ErrClosed, and releases the store.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closing.Swap(true) {
		e.mu.Unlock()
		return ErrClosed
	}
	close(e.space.ending)
	for e.running > 0 {
		e.idle.Wait()
	}
	e.mu.Unlock()
	if e.readers != nil {
		e.readers.wait()
	}
	e.begins.Load().hold() // what is left to compact is left to the next process
	flushed := e.flushed()
	err := e.db().Close()
	if flushed && err == nil && e.holding.own != nil {
		err = e.holding.own.releaseLogs()
	}
	return errors.Join(err, e.holding.release())
}

// flushTime is how long the end of a store waits for its memory to be put into tables. What is not
// stays in Pebble's log.
const flushTime = 30 * time.Second

// flushed puts what is in memory into tables, if there is space on the disk. Tables have checksums,
// and the mark knows the manifest that lists them; the damaged end of a log looks like that of a
// log that held less.
func (e *Engine) flushed() bool {
	if !e.durability.Sync || e.space.reading() != nil || !e.space.has(quartersFlush) || e.tryFiles() != nil {
		return false
	}
	done, err := e.db().AsyncFlush()
	if err != nil {
		e.log.Warn("embedded store: memory is not put into tables at the end; nothing is lost, the next start reads Pebble's log", "err", err)
		return false
	}
	late := time.NewTimer(flushTime)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		e.log.Warn("embedded store: memory was not put into tables in time; nothing is lost, the next start reads Pebble's log", "waited", flushTime)
		return false
	}
}

// enter begins an operation; Pebble must not be closed under one.
func (e *use) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing.Load() {
		return ErrClosed
	}
	e.running++
	return nil
}

func (e *use) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running--; e.running == 0 {
		e.idle.Broadcast()
		e.readers.ended(e.db())
	}
}
