// Package logtest has a disk in memory that fails on demand. After a power failure it contains what
// was synced and a random part of the rest. It is for tests.
package logtest

import (
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/tsdbridge/tsdbridge/storage/log"
)

// Op is a call that changes the disk.
type Op string

// The calls that are told to SetBefore's function.
const (
	OpCreate   Op = "create"
	OpOpen     Op = "open"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpSyncDir  Op = "sync dir"
	OpWrite    Op = "write"
	OpAllocate Op = "allocate"
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"
	OpSyncData Op = "sync data"
)

// Disk is a log.FS. SyncDir treats all names as names in one directory.
type Disk struct {
	before atomic.Pointer[func(op Op, name string) error] // see SetBefore

	mu       sync.Mutex // guards what follows and all inodes
	capacity int64
	files    map[string]*inode
	durable  map[string]*inode // the directory as it was last synced
	pending  []func(map[string]*inode)
	locked   map[string]bool
	rng      *rand.Rand
}

var _ log.FS = (*Disk)(nil)

// New returns an empty disk of unlimited capacity.
func New(seed uint64) *Disk {
	return &Disk{
		capacity: 1 << 62, files: map[string]*inode{}, durable: map[string]*inode{}, locked: map[string]bool{},
		rng: rand.New(rand.NewPCG(seed, 1)),
	}
}

// SetCapacity sets the bytes that all files may take together.
func (d *Disk) SetCapacity(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = bytes
}

// Crash returns the disk as a power failure at this moment would leave it. The disk itself stays in
// use.
func (d *Disk) Crash(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := New(seed)
	after.capacity = d.capacity
	names := maps.Clone(d.durable)
	for _, change := range d.pending[:after.rng.IntN(len(d.pending)+1)] {
		change(names)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		left := names[name].crash(after.rng)
		after.files[name], after.durable[name] = left, left
	}
	return after
}

// Kill returns the disk as the end of the process leaves it: everything is there, but no more
// synced than before.
func (d *Disk) Kill(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := New(seed)
	after.capacity = d.capacity
	copies := map[*inode]*inode{}
	clone := func(of *inode) *inode {
		if copies[of] == nil {
			copies[of] = of.clone()
		}
		return copies[of]
	}
	for name, node := range d.files {
		after.files[name] = clone(node)
	}
	for name, node := range d.durable {
		after.durable[name] = clone(node)
	}
	// The changes themselves hold the old inodes: one step represents all.
	now := maps.Clone(after.files)
	after.pending = []func(map[string]*inode){func(names map[string]*inode) {
		clear(names)
		maps.Copy(names, now)
	}}
	return after
}

// Bytes returns the content of a file, for tests that check it or change it in place.
func (d *Disk) Bytes(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if node := d.files[name]; node != nil {
		return slices.Clone(node.now)
	}
	return nil
}

// Put makes a file with some bytes, synced.
func (d *Disk) Put(name string, b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	node := &inode{now: slices.Clone(b), safe: slices.Clone(b), dirty: map[int64]bool{}}
	d.files[name], d.durable[name] = node, node
}

// MakeDir implements log.FS.
func (d *Disk) MakeDir(string) error { return nil }

// List implements log.FS.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.files {
		if filepath.Dir(name) == filepath.Clean(dir) {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

// Lock implements log.FS.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked[name] {
		return nil, log.ErrLocked
	}
	d.locked[name] = true
	return unlocker{d, name}, nil
}

type unlocker struct {
	disk *Disk
	name string
}

func (u unlocker) Close() error {
	u.disk.mu.Lock()
	defer u.disk.mu.Unlock()
	delete(u.disk.locked, u.name)
	return nil
}

// Create implements log.FS.
func (d *Disk) Create(name string) (log.File, error) {
	return d.handle(OpCreate, name, func() (*inode, error) {
		node := &inode{dirty: map[int64]bool{}}
		d.change(func(names map[string]*inode) { names[name] = node })
		return node, nil
	})
}

// Open implements log.FS.
func (d *Disk) Open(name string) (log.File, error) {
	return d.handle(OpOpen, name, func() (*inode, error) {
		node := d.files[name]
		if node == nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		}
		return node, nil
	})
}

func (d *Disk) handle(op Op, name string, find func() (*inode, error)) (log.File, error) {
	if err := d.fails(op, name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	node, err := find()
	if err != nil {
		return nil, err
	}
	return &file{d, node, name}, nil
}

// Rename implements log.FS.
func (d *Disk) Rename(from, to string) error {
	return d.step(OpRename, from, func(names map[string]*inode) {
		if names[from] != nil {
			names[to] = names[from]
			delete(names, from)
		}
	})
}

// Remove implements log.FS.
func (d *Disk) Remove(name string) error {
	return d.step(OpRemove, name, func(names map[string]*inode) { delete(names, name) })
}

func (d *Disk) step(op Op, name string, change func(map[string]*inode)) error {
	if err := d.fails(op, name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return &os.PathError{Op: string(op), Path: name, Err: os.ErrNotExist}
	}
	d.change(change)
	return nil
}

// change changes the directory, which is then not synced.
func (d *Disk) change(change func(map[string]*inode)) {
	change(d.files)
	d.pending = append(d.pending, change)
}

// SyncDir implements log.FS.
func (d *Disk) SyncDir(dir string) error {
	if err := d.fails(OpSyncDir, dir); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.durable, d.pending = maps.Clone(d.files), nil
	return nil
}

// SetBefore has f called before each change from now on; an error makes the call fail. Half of a failed write is
// done, and some of a failed sync; no later sync does the rest. Nil fails nothing.
func (d *Disk) SetBefore(f func(op Op, name string) error) { d.before.Store(&f) }

// fails returns the error of which a call dies.
func (d *Disk) fails(op Op, name string) error {
	f := d.before.Load()
	if f == nil || *f == nil {
		return nil
	}
	return (*f)(op, name)
}

// reserve reports whether there is space for more bytes.
func (d *Disk) reserve(more int64) error {
	for _, node := range d.files {
		more += int64(len(node.now))
	}
	if more > d.capacity {
		return syscall.ENOSPC
	}
	return nil
}
