package carbon

import (
	"net"
	"time"
)

// noConn is a net.Conn without any data.
type noConn struct{ net.Conn }

func (noConn) Close() error                    { return nil }
func (noConn) SetReadDeadline(time.Time) error { return nil }
func (noConn) RemoteAddr() net.Addr            { return &net.TCPAddr{} }
