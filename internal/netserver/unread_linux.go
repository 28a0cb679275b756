package netserver

import (
	"net"
	"syscall"
	"unsafe"
)

// unread reports whether bytes of a connection have come that were not read yet.
func unread(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	n := int32(0)
	err = raw.Control(func(fd uintptr) {
		const fionread = syscall.TIOCINQ
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, fionread, uintptr(unsafe.Pointer(&n))); errno != 0 {
			n = 0
		}
	})
	return err == nil && n > 0
}
