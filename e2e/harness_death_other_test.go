//go:build !linux

package e2e_test

import "syscall"

// dieWithParent does nothing where the kernel does not watch parents.
func dieWithParent() *syscall.SysProcAttr { return nil }
