package e2e_test

import "syscall"

// dieWithParent makes the kernel end the children of a test binary that was killed or ran out of
// time.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
