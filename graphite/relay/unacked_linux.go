package relay

import (
	"net"
	"syscall"
	"unsafe"
)

// unacked returns how many bytes of what was written to a connection the other side's system has not
// acknowledged.
func unacked(conn *net.TCPConn) int64 {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	n := int32(0)
	err = raw.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
			n = 0
		}
	})
	if err != nil {
		return 0
	}
	return int64(n)
}
