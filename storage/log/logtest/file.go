package logtest

import (
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
)

// sector is the bytes that a power failure leaves either old or new.
const sector = 64

// inode is a file: what the process sees and what is on the disk.
type inode struct {
	now, safe []byte
	dirty     map[int64]bool // sectors of now that the next sync writes
}

func (n *inode) clone() *inode {
	return &inode{slices.Clone(n.now), slices.Clone(n.safe), maps.Clone(n.dirty)}
}

// resize changes the length; new bytes are zero.
func (n *inode) resize(size int64) {
	old := int64(len(n.now))
	if size < old {
		n.now = n.now[:size:size]
		maps.DeleteFunc(n.dirty, func(at int64, _ bool) bool { return at*sector >= size })
		return
	}
	n.now = append(n.now, make([]byte, size-old)...)
	n.touch(old, size)
}

func (n *inode) touch(from, to int64) {
	for at := from / sector; at*sector < to; at++ {
		n.dirty[at] = true
	}
}

// sync writes the dirty sectors that keep chooses and forgets all of them.
func (n *inode) sync(keep func() bool) {
	n.safe = fit(n.safe, len(n.now))
	for _, at := range slices.Sorted(maps.Keys(n.dirty)) {
		if keep() {
			n.copySector(n.safe, at)
		}
	}
	clear(n.dirty)
}

func (n *inode) copySector(to []byte, at int64) {
	from := int(at * sector)
	if from < len(to) && from < len(n.now) {
		copy(to[from:], n.now[from:min(from+sector, len(n.now))])
	}
}

// crash returns what is left: the old or the new length, and each dirty sector old or new.
func (n *inode) crash(rng *rand.Rand) *inode {
	left := slices.Clone(n.safe)
	if rng.IntN(2) == 0 {
		left = fit(left, len(n.now))
	}
	for _, at := range slices.Sorted(maps.Keys(n.dirty)) {
		if rng.IntN(2) == 0 {
			n.copySector(left, at)
		}
	}
	return &inode{left, slices.Clone(left), map[int64]bool{}}
}

// fit cuts b or fills it up with zeros.
func fit(b []byte, size int) []byte {
	if size <= len(b) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-len(b))...)
}

// file is an open inode.
type file struct {
	disk *Disk
	node *inode
	name string
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if at >= int64(len(f.node.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.now[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	failed := f.disk.fails(OpWrite, f.name)
	if failed != nil {
		b = b[:len(b)/2]
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.grow(at + int64(len(b))); err != nil {
		return 0, err
	}
	copy(f.node.now[at:], b)
	f.node.touch(at, at+int64(len(b)))
	return len(b), failed
}

// grow makes the file at least size bytes long.
func (f *file) grow(size int64) error {
	more := size - int64(len(f.node.now))
	if more <= 0 {
		return nil
	}
	if err := f.disk.reserve(more); err != nil {
		return err
	}
	f.node.resize(size)
	return nil
}

func (f *file) Close() error { return nil }

func (f *file) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.node.now)), nil
}

func (f *file) Allocate(size int64) error {
	if err := f.disk.fails(OpAllocate, f.name); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return f.grow(size)
}

func (f *file) Truncate(size int64) error {
	if err := f.disk.fails(OpTruncate, f.name); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if size > int64(len(f.node.now)) {
		return os.ErrInvalid
	}
	f.node.resize(size)
	return nil
}

func (f *file) Sync() error { return f.sync(OpSync) }

func (f *file) SyncData() error { return f.sync(OpSyncData) }

func (f *file) sync(op Op) error {
	failed := f.disk.fails(op, f.name)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.node.sync(func() bool { return failed == nil || f.disk.rng.IntN(2) == 0 })
	return failed
}
