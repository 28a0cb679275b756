package netserver

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"
)

// A Conn is a connection of a Port. The protocol that serves it reports when there is work on it,
// so that the port knows which connection may be closed when it is full. A nil *Conn accepts these
// reports too.
//
// A client that does not read what is written to it is cut off: it must take writePiece bytes in
// writeTimeout, unless the protocol has set a write deadline of its own.
type Conn struct {
	net.Conn
	port *Port
	addr netip.Addr

	// Guarded by port.mu.
	host   *host
	useful bool   // work was done on it
	spared uint64 // the look for a victim that it was spared by

	reserve bool         // it was let in beyond the port's limit
	known   atomic.Bool  // useful, for those without the lock
	working atomic.Int32 // pieces of work under way
	since   atomic.Int64 // when it was accepted or last useful, nanoseconds since 1970

	inHead    atomic.Bool  // what is read belongs to the head of a request
	answering atomic.Int32 // requests of which the head has come, and that are not answered; HTTP/2 has several at once
	head      atomic.Int64 // bytes of it
	headShare Share        // of the port's heads

	owes       atomic.Bool  // work was done since the last read
	deadline   atomic.Bool  // the protocol has set a write deadline
	timeoutSet atomic.Int64 // when we set one last, nanoseconds since 1970
}

const (
	writePiece   = 256 << 10
	writeTimeout = 30 * time.Second
	// timeoutStep is how old a write deadline of ours may be before it is moved: most writes find a
	// fresh one.
	timeoutStep = writeTimeout / 8
)

// freeHead is the length of a head that is not counted: nearly all are shorter.
const freeHead = 8 << 10

type headsError struct{}

func (headsError) Error() string { return "the heads of requests take too much memory together" }

// Read implements net.Conn.
//
// A client that sends without a pause always has more work in the socket. Between two pieces others
// go first, or a few hundred such clients would make all others wait for seconds.
func (c *Conn) Read(b []byte) (int, error) {
	if c.owes.Swap(false) {
		runtime.Gosched()
	}
	n, err := c.Conn.Read(b)
	if n > 0 && c.inHead.Load() && c.head.Add(int64(n)) > freeHead && !c.headShare.Take(n) {
		return 0, headsError{}
	}
	return n, err
}

// Headed reports that a head is complete: what is read until Answered is not counted. A client that did
// not wait for the last answer lets others go first.
func (c *Conn) Headed() {
	if c == nil {
		return
	}
	if c.owes.Swap(false) {
		runtime.Gosched()
	}
	c.answering.Add(1)
	c.noHead()
}

func (c *Conn) noHead() {
	if c.inHead.Swap(false) {
		c.headShare.Release()
	}
}

// Begin reports that everything that a piece of work needs has come: the connection should not be
// closed now.
func (c *Conn) Begin() {
	if c != nil {
		c.working.Add(1)
	}
}

// End reports that the piece of work is done. useful is true when it was what clients connect for.
func (c *Conn) End(useful bool) {
	if c == nil {
		return
	}
	if useful {
		c.since.Store(time.Now().UnixNano())
		if !c.known.Swap(true) {
			c.port.meet(c)
		}
	}
	c.owes.Store(true)
	if c.working.Add(-1) == 0 && c.port.waiting.Load() {
		c.port.wake()
	}
}

// Answered reports that the request of a head is answered, and that others may go first. What is read next is
// the head of another request, unless bodies of other requests still come: those of HTTP/2 come beside each other, and
// one head among them has the bytes that the server lets it have.
func (c *Conn) Answered() {
	if c == nil {
		return
	}
	c.owes.Store(true)
	if c.answering.Add(-1) <= 0 && c.port.heads != nil {
		c.head.Store(0)
		c.inHead.Store(true)
	}
}

// Reserve reports that the connection was accepted although all others were at work: the protocol
// answers only what must always be answered.
func (c *Conn) Reserve() bool { return c != nil && c.reserve }

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.port.forget(c)
	c.noHead()
	return c.Conn.Close()
}

// CloseWrite ends what is written, as net/http does before it closes a connection of which it has
// not read all: else the client gets a reset in place of the answer.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// SetWriteDeadline implements net.Conn. The zero time leaves it to us again.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.deadline.Store(!t.IsZero())
	c.timeoutSet.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (n int, err error) {
	for {
		if err := c.wait(); err != nil {
			return n, err
		}
		written, err := c.Conn.Write(b[n:min(len(b), n+writePiece)])
		n += written
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// wait moves the write deadline.
func (c *Conn) wait() error {
	if c.deadline.Load() {
		return nil
	}
	now := time.Now()
	if now.UnixNano()-c.timeoutSet.Load() < int64(timeoutStep) {
		return nil
	}
	c.timeoutSet.Store(now.UnixNano())
	return c.Conn.SetWriteDeadline(now.Add(writeTimeout))
}

type connKey struct{}

// WithConn returns a context in which ConnOf finds the connection, if it is a port's: what
// http.Server.ConnContext wants.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	if conn := PortConn(c); conn != nil {
		return context.WithValue(ctx, connKey{}, conn)
	}
	return ctx
}

// PortConn returns the connection of a port that c is, or is made of; nil if there is none.
func PortConn(c net.Conn) *Conn {
	for {
		switch inner := c.(type) {
		case *Conn:
			return inner
		case interface{ NetConn() net.Conn }: // of TLS, or one of which something was read
			c = inner.NetConn()
		default:
			return nil
		}
	}
}

// ConnOf returns the connection of a request's context, nil if it is no port's.
func ConnOf(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
