package carbon

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// connection is one TCP connection. It reads what has arrived, delivers the points, and only then
// reads on, so a slow store slows the sender. While many points are being delivered, it reads and
// parses once more.
type connection struct {
	*Listener
	conn     net.Conn
	place    *netserver.Conn // conn's in the port
	delivery *delivery
	lines    netserver.Lines
	pipeline netserver.Pipeline // delivers
	other    []byte             // memory of lines that pipeline delivers the points of
	begun    bool               // something was read
	turn     *query.Turn        // to parse
}

// serveConnection returns when the sender closes the connection, a line closes it, or ctx ends.
// Deliveries go on until writeCtx ends.
func (l *Listener) serveConnection(ctx, writeCtx context.Context, conn net.Conn, d *delivery) {
	l.metrics.accepted.Inc()
	defer func() { _ = conn.Close() }() // nothing was written that could fail to arrive
	// The deadline is set after ctx has ended: read looks at ctx after it has set its own.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(past) })
	defer stop()
	c := &connection{Listener: l, conn: conn, place: netserver.PortConn(conn), delivery: d, lines: newLines(l.o.ReadBuffer, l.budget), turn: l.turns.Lasting()}
	writeCtx = rejections.WithClient(writeCtx, c.remote)
	defer c.lines.Close()
	defer c.pipeline.Wait()
	for {
		err := c.read(ctx)
		c.place.Begin()
		open, useful := c.take(writeCtx)
		c.place.End(useful)
		if !open {
			return
		}
		if err != nil {
			c.end(writeCtx, err)
			return
		}
	}
}

// read reads what is there.
func (c *connection) read(ctx context.Context) error {
	if c.o.IdleTimeout > 0 {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.o.IdleTimeout)); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := c.conn.Read(c.lines.Room())
	c.lines.Filled(n)
	c.metrics.tcp.bytes.Add(float64(n))
	return err
}

// take delivers the points of all complete lines. It reports whether the connection stays open (a
// line may close it), and whether there were points.
func (c *connection) take(ctx context.Context) (open, useful bool) {
	b := c.newBatch(c.delivery, c.metrics.tcp)
	b.pipeline, b.turn = &c.pipeline, c.turn
	_ = c.turn.Resume(ctx) // When the process stops, what was read is parsed without a turn.
	open = c.collect(ctx, b)
	c.turn.Pause()
	if !open || len(*b.points) < netserver.PipelinePoints {
		b.end(ctx)
		return open, b.useful
	}
	c.pipeline.Wait() // the points of the other memory are delivered
	c.other = c.lines.Swap(c.other)
	b.pipeline = nil
	c.pipeline.Begin(func() { b.end(ctx) })
	return true, true
}

// collect parses all complete lines. It returns false when one of them closes the connection.
func (c *connection) collect(ctx context.Context, b *batch) bool {
	if first := c.lines.Rest(); !c.begun && netserver.IsHandshake(first) {
		b.refuse(ctx, ReasonTLS, nil, c.remote)
		return false
	}
	c.begun = true
	for {
		c.lines.Skip(b.addPlain(ctx, c.lines.Rest()))
		line, tooLong, ok := c.lines.Next()
		if !ok {
			return true
		}
		reason := ReasonTooLong
		if !tooLong {
			reason = b.add(ctx, line)
		}
		if reason == 0 {
			continue
		}
		if netserver.IsRequestHead(line) || tooLong && netserver.IsRequestBegin(line) {
			reason = ReasonHTTP
		}
		b.refuse(ctx, reason, line, c.remote)
		if reason.foreign() || reason.closes() && !c.o.KeepOpen {
			c.metrics.abandonedBytes.Add(float64(len(c.lines.Unfinished())))
			return false
		}
	}
}

func (c *connection) remote() string { return c.conn.RemoteAddr().String() }

// end counts the unfinished line. It may be cut anywhere, even within a number.
func (c *connection) end(ctx context.Context, err error) {
	if rest := c.lines.Unfinished(); len(rest) > 0 {
		b := c.newBatch(c.delivery, c.metrics.tcp)
		b.refuse(ctx, ReasonUnfinished, rest, c.remote)
		b.end(ctx)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.o.Logger.DebugContext(ctx, "carbon connection ended", "client", c.remote(), "err", err)
	}
}
