//go:build !linux

package cluster

import "syscall"

// Only Linux can tie a child to its parent; elsewhere a killed test may leave a JVM behind, and two
// first runs at once may disturb each other.

func dieWithParent() *syscall.SysProcAttr { return nil }

func lock(string) (unlock func(), err error) { return func() {}, nil }
