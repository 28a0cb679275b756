//go:build !linux

package e2e_test

import "syscall"

// dieWithParent does nothing where the kernel cannot tie a child to its parent.
func dieWithParent() *syscall.SysProcAttr { return nil }
