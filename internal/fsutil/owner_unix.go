//go:build unix

package fsutil

import (
	"os"
	"syscall"
)

// isRoot reports whether the process may give files to others.
func isRoot() bool { return os.Geteuid() == 0 }

// owner returns whose a file or folder is.
func owner(name string) (uid, gid int, ok bool) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

func give(name string, uid, gid int) { _ = os.Lchown(name, uid, gid) }
