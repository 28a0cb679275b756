package log

import "io"

// FS is what the log needs of a file system. OS is the real one; logtest.Disk fails and loses data
// on demand. Names are paths. Creating, renaming and removing are durable after SyncDir, unless
// stated otherwise.
type FS interface {
	// MakeDir makes a directory and those above it, if they are not there. It is durable when this
	// returns.
	MakeDir(dir string) error
	// List returns the names of the files in a directory, without the directory, in any order.
	List(dir string) ([]string, error)
	// Lock keeps a file locked until it is closed or the process ends. It fails with ErrLocked if
	// another holds it.
	Lock(name string) (io.Closer, error)
	// Create makes a file; one of that name is emptied.
	Create(name string) (File, error)
	// Open opens a file to be read and changed in place.
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error
}

// File is one open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size returns the length in bytes.
	Size() (int64, error)
	// Allocate makes the file size bytes long and reserves the disk's blocks for them, so that
	// writes within it need no more space. New bytes are zero.
	Allocate(size int64) error
	// Truncate makes the file size bytes long, no longer than it is.
	Truncate(size int64) error
	// Sync makes data and length durable.
	Sync() error
	// SyncData makes data durable, and of the rest only what is needed to read it back (fdatasync).
	SyncData() error
}
