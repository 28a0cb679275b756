package e2e_test

import "syscall"

// dieWithParent has the kernel end the children of a test binary that was killed or ran out of
// time: nothing else would.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
