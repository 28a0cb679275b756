//go:build !linux

package cluster

import "syscall"

// Only Linux can tie a child to its parent; elsewhere the JVM of a killed test may keep running,
// and two first runs at once may disturb each other.

func dieWithParent() *syscall.SysProcAttr { return nil }

func lock(string) (unlock func(), err error) { return func() {}, nil }
