package fsutil

import "path/filepath"

// GiveToOwner gives a new file or folder to the owner of the folder that it is in, when root made it in a
// folder of another user. So a command that root runs on the store of a service leaves nothing there that the
// service cannot open. Where the file system has no owners, or does not let go, the file stays as it is.
func GiveToOwner(name string) {
	if !isRoot() {
		return
	}
	if uid, gid, ok := owner(filepath.Dir(filepath.Clean(name))); ok && uid != 0 {
		give(name, uid, gid)
	}
}
