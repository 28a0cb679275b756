package carbon

import (
	"net"
	"time"
)

// noConn is a net.Conn that nothing comes from.
type noConn struct{ net.Conn }

func (noConn) Close() error                    { return nil }
func (noConn) SetReadDeadline(time.Time) error { return nil }
func (noConn) RemoteAddr() net.Addr            { return &net.TCPAddr{} }
