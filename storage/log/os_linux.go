package log

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves blocks. Not every file system can (NFS before 4.2, some of FUSE).
func allocate(f *os.File, size int64) error {
	err := uninterrupted(func() error { return syscall.Fallocate(int(f.Fd()), 0, 0, size) })
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return writeZeros(f, size)
	}
	return err
}

// syncData leaves out the time of the last change: a journal commit less on blocks that were
// written before.
func syncData(f *os.File) error {
	return uninterrupted(func() error { return syscall.Fdatasync(int(f.Fd())) })
}

// uninterrupted calls again what a signal stopped before it began, as package os does.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
