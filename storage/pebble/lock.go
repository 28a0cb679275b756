package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockEvery is how often a folder in use is tried again.
const lockEvery = 50 * time.Millisecond

// lockFolder locks a folder. One that is in use is tried again for the time of wait: a process that
// was killed may take a moment to end.
func lockFolder(path string, files vfs.FS, wait time.Duration) (*pebble.Lock, error) {
	for begin := time.Now(); ; time.Sleep(lockEvery) {
		lock, err := pebble.LockDirectory(path, files)
		if err == nil {
			return lock, nil
		}
		// The file could not be opened: no lock was requested yet.
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			return nil, fmt.Errorf("lock it: %w", err)
		}
		if time.Since(begin) >= wait {
			return nil, inUse(path, files, err)
		}
	}
}

// inUse names the process, as the store's mark knows it.
func inUse(path string, files vfs.FS, err error) error {
	if owned, found, readErr := readOwned(files, path); readErr == nil && found && owned.process > 0 {
		return fmt.Errorf("%w, process %d: %w", ErrInUse, owned.process, err)
	}
	return fmt.Errorf("%w: %w", ErrInUse, err)
}
