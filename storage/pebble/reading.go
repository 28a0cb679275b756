package pebble

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A store whose disk takes no writes at the start (it is full to the last byte, has no inode left,
// or is mounted read-only) is opened to be read: Pebble replays its log into memory, and no file is
// changed. The start for writing is tried again until it works. Then new operations get the store
// that takes writes, and the one that is only read is closed when its last operation ends.

// takesNoWrites reports whether an error is that of a disk on which nothing can be written for now.
func takesNoWrites(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// refusal is the error of a write while the disk takes none.
func refusal(path string, err error) error {
	if errors.Is(err, syscall.EROFS) {
		return readOnlyDisk{path}
	}
	return fmt.Errorf("%w: %s is full: no blocks, no files or no quota are left", storage.ErrFull, path)
}

// readOnlyDisk is storage.ErrFull of a file system that is mounted read-only.
type readOnlyDisk struct{ path string }

func (e readOnlyDisk) Error() string { return "the file system of " + e.path + " is mounted read-only" }

func (readOnlyDisk) Is(target error) bool { return target == storage.ErrFull }

// readers are those of a store that was opened to be read, also after it takes writes.
type readers struct {
	files  vfs.FS
	tried  chan struct{} // closed when the attempts to open for writing have ended
	report func(error)

	mu      sync.Mutex // guards all below
	db      *pebble.DB // nil when it is closed
	removed []string   // tables that the other store no longer needs
}

func (r *readers) wait() { <-r.tried }

// ended closes the store that is only read when another took its place and no operation uses it.
// The receiver may be nil.
func (r *readers) ended(now *pebble.DB) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil || r.db == now {
		return
	}
	err := r.db.Close()
	r.db = nil
	for _, name := range r.removed {
		err = errors.Join(err, r.files.Remove(name))
	}
	if r.removed = nil; err != nil {
		r.report(err)
	}
}

// need reports whether a table that is to be removed is needed yet; it is removed later then. The
// receiver may be nil.
func (r *readers) need(name string) bool {
	if r == nil || !isTable(name) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db != nil {
		r.removed = append(r.removed, name)
	}
	return r.db != nil
}

// openReading opens the store for reading after opening it for writing has failed, and keeps trying
// to open it for writing.
func (e *Engine) openReading(o Options, why error) error {
	lock, err := lockFolder(o.Path, e.files, o.LockWait)
	if err != nil && !takesNoWrites(err) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e.holding.lock = lock // nil where none can be made: then no process writes
	found, err := inspect(o.Path, e.files, o.restoring)
	if err == nil {
		e.fresh, e.logEnd = !found.has(manifestMarker), found.owned.log
		err = e.openRead(o, found)
	}
	if err != nil {
		return errors.Join(err, e.holding.release())
	}
	e.space.refuse(why)
	// without the stack that Pebble adds
	e.log.Error("embedded store: the disk takes no writes, they are refused until it does, and what is there is read; free space or repair the disk", "path", o.Path, "err", why.Error())
	e.readers = &readers{files: e.files, tried: make(chan struct{}), db: e.db()}
	e.readers.report = func(err error) {
		e.log.Warn("embedded store: what was open for reading is not closed in order; nothing is to be done", "err", err)
	}
	o.LockWait = 0
	go e.tryWriting(o)
	return nil
}

// openRead opens Pebble's store without a change to any file. A store that does not exist yet is
// replaced by an empty one in memory.
func (e *Engine) openRead(o Options, found *inspection) error {
	path, options := o.Path, tuned(o, lockless{e.files})
	if options.ReadOnly = !e.fresh; e.fresh {
		o.InMemory = true
		path, options = "", tuned(o, vfs.NewMem())
	}
	options.EventListener = e.listener(o.Logger)
	db, err := pebble.Open(path, options)
	if err != nil {
		return explainOpening(err, e.files, o.Path)
	}
	if err = e.loadRead(db, o, found); err != nil {
		return errors.Join(explain(err), db.Close())
	}
	e.now.Store(db)
	return nil
}

// loadRead is load without a change: what is missing is added in memory, as it will be on the disk.
func (e *Engine) loadRead(db *pebble.DB, o Options, found *inspection) (err error) {
	version, err := checkFormat(db)
	if err != nil {
		return err
	}
	if !found.marked && version >= formatMarked {
		return found.noMark()
	}
	if _, err := e.lineage.read(db, version, e.path, found.owned.tables); err != nil {
		return err
	}
	if e.families, err = loadFamilies(db); err != nil {
		return err
	}
	e.families.add(o.Tables)
	return e.clock.load(db)
}

// lockless is a file system on which every lock succeeds at once: the folder has been locked
// before.
type lockless struct{ vfs.FS }

// Lock implements vfs.FS.
func (lockless) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// tryEvery is how often an opening for writing is tried.
const tryEvery = time.Second

// tryWriting opens the store for writing as soon as the disk takes writes, or ends with the engine.
func (e *Engine) tryWriting(o Options) {
	defer close(e.readers.tried)
	again := time.NewTicker(tryEvery)
	defer again.Stop()
	said := ""
	for {
		select {
		case <-e.space.ending:
			return
		case <-again.C:
		}
		h, err := e.openWriting(o, e.holding)
		if err == nil {
			e.adopt(h)
			return
		}
		e.space.refuse(err)
		if text := err.Error(); !takesNoWrites(err) && text != said {
			said = text
			e.log.Error("embedded store: it cannot be opened for writing and is read-only; fix the error and restart", "path", o.Path, "err", text)
		}
	}
}

// adopt takes writes with what was opened for them.
func (e *Engine) adopt(h holding) {
	e.mu.Lock()
	e.holding = h
	if e.running == 0 {
		e.readers.ended(e.db())
	}
	e.mu.Unlock()
	e.space.read.Store(nil)
	e.log.Info("embedded store: the disk takes writes again", "path", e.path)
}

const (
	// A start writes these bytes, in addition to the content of Pebble's logs, which becomes
	// tables.
	openBytes = 256 << 10
	openFiles = 8 // that it makes
	tryBytes  = 64 << 10
)

// spaceToOpen fails, with the error of the system, where a start would meet a full disk: Pebble
// cannot be stopped in the middle.
func (e *folder) spaceToOpen(found *inspection) error {
	need := uint64(openBytes)
	for _, f := range found.owned.files {
		if !f.manifest || f.number == found.current.number {
			need += uint64(f.size)
		}
	}
	if usage, err := e.files.GetDiskUsage(e.path); err == nil && usage.AvailBytes < need {
		return fmt.Errorf("%d bytes are free for %s, a start needs %d: %w", usage.AvailBytes, e.path, need, syscall.ENOSPC)
	}
	return e.tryFiles()
}

// tryFiles tries whether files can be made and written: a disk may have blocks and no files left,
// or a quota.
func (e *folder) tryFiles() (err error) {
	for n := range openFiles {
		name := e.files.PathJoin(e.path, fmt.Sprint(probePrefix, n, newSuffix))
		f, createErr := e.files.Create(name, vfs.WriteCategoryUnspecified)
		if err = createErr; err != nil {
			break
		}
		defer func() { err = errors.Join(err, e.files.Remove(name)) }()
		b := make([]byte, tryBytes/openFiles)
		_, err = f.Write(b)
		if err = errors.Join(err, f.Close()); err != nil {
			break
		}
	}
	return err
}

// probePrefix is that of the files of tryFiles.
const probePrefix = "room"

func isTrial(name string) bool {
	return strings.HasPrefix(name, probePrefix) && strings.HasSuffix(name, newSuffix)
}
