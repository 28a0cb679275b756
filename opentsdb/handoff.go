package opentsdb

import (
	"net"
	"sync"
)

// handoff is a net.Listener of connections that were accepted elsewhere.
type handoff struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newHandoff(addr net.Addr) *handoff {
	return &handoff{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands a connection over. It returns false when the handoff is closed.
func (h *handoff) give(conn net.Conn) bool {
	select {
	case h.conns <- conn:
		return true
	case <-h.closed:
		return false
	}
}

// Accept implements net.Listener.
func (h *handoff) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handoff) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *handoff) Addr() net.Addr { return h.addr }

// looked is a connection of which the first bytes have been read already.
type looked struct {
	net.Conn
	first   []byte // not yet given to Read
	onClose func()
	once    sync.Once
}

// Read implements net.Conn. net/http calls it from one goroutine at a time.
func (c *looked) Read(b []byte) (int, error) {
	if len(c.first) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.first)
	c.first = c.first[n:]
	return n, nil
}

// NetConn returns the connection itself.
func (c *looked) NetConn() net.Conn { return c.Conn }

// CloseWrite ends what is written, for net/http.
func (c *looked) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (c *looked) Close() error {
	c.once.Do(c.onClose)
	return c.Conn.Close()
}
