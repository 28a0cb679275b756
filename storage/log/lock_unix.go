//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package log

import (
	"errors"
	"os"
	"syscall"
)

// lock holds for the open file, not for the process: a second Open in the same process fails too.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
