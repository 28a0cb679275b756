//go:build !linux

package netserver

import "net"

// unread would report whether bytes of a connection have come that were not read yet. It is not
// known here.
func unread(net.Conn) bool { return false }
