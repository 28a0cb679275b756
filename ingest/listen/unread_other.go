//go:build !linux

package listen

import "net"

// unread says whether bytes of a connection have come that nobody has read yet: that is not asked here.
func unread(net.Conn) bool { return false }
