//go:build unix

package adapter

import (
	"math"
	"syscall"
)

// openFiles returns how many files the process may have open. Go has raised it to what is allowed.
func openFiles() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(uint64(r.Cur), math.MaxInt32)) //nolint:gosec,unconvert // it has other types elsewhere
}
