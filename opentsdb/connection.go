package opentsdb

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
)

// answerTimeout is how long a client of telnet may let us wait before it reads its answers. A TSD
// drops what cannot be sent at once.
const answerTimeout = 5 * time.Second

// tlsHandshake is the first byte of a connection with TLS.
const tlsHandshake = 0x16

// serve looks at the first byte of a connection and serves it until ctx ends. Points that came by
// telnet may be stored until writeCtx ends.
func (s *server) serve(ctx, writeCtx context.Context, conn net.Conn) {
	s.metrics.open.Add(1)
	s.metrics.total.Add(1)
	closed := func() { s.metrics.open.Add(-1) }
	// The deadline is set after ctx has ended: reads look at ctx after they have set their own.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	c := s.connection(conn)
	defer func() { c.lines.Close() }()
	_, err := c.read(ctx, s.o.IdleTimeout)
	if first := c.lines.Rest(); s.o.TLS != nil && len(first) > 0 && first[0] == tlsHandshake {
		var secure *tls.Conn
		if secure, err = s.handshake(ctx, conn, bytes.Clone(first)); err != nil {
			s.errors.HandshakeFailed(fmt.Sprintf("from %s: %v", conn.RemoteAddr(), err))
			stop()
			closed()
			_ = conn.Close()
			return
		}
		c.lines.Close()
		c = s.connection(secure)
		_, err = c.read(ctx, s.o.IdleTimeout)
	}
	first := c.lines.Rest()
	switch {
	case s.o.TLS == nil && netserver.IsHandshake(first):
		s.metrics.foreign.Inc()
	case len(first) == 0 || !isHTTP(first[0]):
		c.serve(ctx, writeCtx, err)
	case s.o.TLS != nil && c.conn == conn:
		c.send([]byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port takes HTTP over TLS only.\n"))
	default:
		s.metrics.http.Inc()
		if stop() && conn.SetReadDeadline(time.Time{}) == nil && s.handoff.give(&looked{Conn: c.conn, first: first, onClose: closed}) {
			return
		}
	}
	stop()
	closed()
	_ = c.conn.Close() // nothing was written that could fail to arrive
}

func (s *server) connection(conn net.Conn) *connection {
	l := put.NewLines(s.o.ReadBuffer, s.o.MaxLine, s.budget)
	return &connection{server: s, conn: conn, place: netserver.PortConn(conn), lines: l, telnet: put.Telnet{Puts: s.puts, About: s.about, Turn: s.turns.Lasting(), Client: conn.RemoteAddr().String()}}
}

// handshake begins TLS on a connection whose first bytes were read.
func (s *server) handshake(ctx context.Context, conn net.Conn, first []byte) (*tls.Conn, error) {
	if err := conn.SetDeadline(time.Now().Add(headerTimeout)); err != nil {
		return nil, err
	}
	secure := tls.Server(&looked{Conn: conn, first: first, onClose: func() {}}, s.o.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secure, conn.SetDeadline(time.Time{})
}

// isHTTP reports whether a connection that begins with c speaks HTTP: its methods are upper case,
// the commands of telnet are not.
func isHTTP(c byte) bool { return c >= 'A' && c <= 'Z' }

// connection is one connection of telnet. It reads what has arrived, stores the points, answers,
// and only then reads on, so a slow store slows the sender. While many points are being stored, it
// reads and parses once more.
type connection struct {
	*server
	conn   net.Conn
	place  *netserver.Conn // conn's in the port
	lines  netserver.Lines
	telnet put.Telnet
	mute   atomic.Bool // the client does not read its answers
}

// serve returns when the client closes the connection or sends exit, or ctx ends. err is of the
// first read.
func (c *connection) serve(ctx, writeCtx context.Context, err error) {
	if n := len(c.lines.Rest()); n > 0 {
		c.metrics.telnet.Inc()
		c.metrics.received.Add(float64(n))
	}
	c.telnet.Late = func(answer string) {
		c.metrics.bad.Add(1)
		c.send(putline.Latin1Bytes(answer + "\n"))
	}
	defer c.telnet.Wait()
	for {
		c.place.Begin()
		open := c.telnet.Take(writeCtx, &c.lines, c.delivery)
		c.place.End(c.telnet.Lines > c.telnet.Bad+c.telnet.Strange)
		c.note()
		c.flush()
		if !open {
			return
		}
		if err != nil {
			c.end(ctx, err)
			return
		}
		var n int
		n, err = c.read(ctx, c.o.IdleTimeout)
		c.metrics.received.Add(float64(n))
	}
}

// read reads what is there, within a timeout unless it is 0.
func (c *connection) read(ctx context.Context, timeout time.Duration) (n int, err error) {
	deadline := time.Time{}
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err = c.conn.Read(c.lines.Room())
	c.lines.Filled(n)
	return n, err
}

// note adds the counts of a run to the metrics.
func (c *connection) note() {
	c.metrics.lines.Add(int64(c.telnet.Lines))
	c.metrics.bad.Add(int64(c.telnet.Bad))
	c.telnet.Lines, c.telnet.Bad, c.telnet.Strange = 0, 0, 0
	if c.telnet.Foreign {
		c.metrics.foreign.Inc()
		c.telnet.Foreign = false
	}
}

// flush sends the answers. A client that does not read them gets no further answers: clients that
// only put may never read.
func (c *connection) flush() {
	answer := c.telnet.Answer
	if c.telnet.Answer = answer[:0]; cap(answer) > netserver.FirstBuffer {
		c.telnet.Answer = nil
	}
	c.send(answer)
}

func (c *connection) send(answer []byte) {
	if len(answer) == 0 || c.mute.Load() {
		return
	}
	err := c.conn.SetWriteDeadline(time.Now().Add(answerTimeout))
	if err == nil {
		_, err = c.conn.Write(answer)
	}
	if err != nil && !c.mute.Swap(true) {
		c.metrics.mute.Inc()
	}
}

func (c *connection) end(ctx context.Context, err error) {
	if len(c.lines.Unfinished()) > 0 {
		c.metrics.unfinished.Inc()
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.o.Logger.DebugContext(ctx, "telnet connection ended", "client", c.conn.RemoteAddr().String(), "err", err)
	}
}
