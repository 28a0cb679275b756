package carbon

import (
	"context"
	"errors"
	"io"
	"net"
	"os"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

// framedPort is a port of a protocol that sends points in frames.
type framedPort struct {
	flag     string // of its address
	address  string
	tcp      net.Listener
	protocol string
	metrics  protocolMetrics
	// parse adds the points of a frame to it. refuse is called for what is no point, with the text to be
	// logged. The reason that it returns concerns the rest of the frame.
	parse func(f *frame, now int64, refuse func(Reason, []byte)) Reason
}

// what names the protocol for people.
func (p *framedPort) what() string { return Lines + " " + p.protocol }

// framedConnection is a connection of a framedPort. It reads a frame, delivers the points, and only then
// reads on; while many points are being delivered, it reads one frame more.
type framedConnection struct {
	*Listener
	port     *framedPort
	conn     net.Conn
	place    *netserver.Conn
	delivery *delivery
	frames   [2]frame // the one that is arriving, and the one that is delivered
	pipeline netserver.Pipeline
	turn     *query.Turn // to parse
}

// serveFrames returns when the sender closes the connection, a frame closes it, or ctx ends. Deliveries
// go on until writeCtx ends.
func (l *Listener) serveFrames(ctx, writeCtx context.Context, port *framedPort, conn net.Conn, d *delivery) {
	l.metrics.accepted.Inc()
	defer func() { _ = conn.Close() }() // nothing was written that could fail to arrive
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(past) })
	defer stop()
	c := &framedConnection{Listener: l, port: port, conn: conn, place: netserver.PortConn(conn), delivery: d, turn: l.turns.Lasting()}
	writeCtx = rejections.WithClient(writeCtx, c.remote)
	for i := range c.frames {
		c.frames[i].share.Gate = l.frames
		defer c.frames[i].release()
	}
	defer c.pipeline.Wait()
	reader := newFrameReader(ctx, conn, l.o.FrameBytes, l.o.IdleTimeout)
	for n := 0; ; n = 1 - n {
		f := &c.frames[n]
		if err := reader.next(f); err != nil {
			c.end(writeCtx, f, reader.head[:], err)
			return
		}
		c.place.Begin()
		open, useful := c.take(writeCtx, f)
		c.place.End(useful)
		if !open {
			return
		}
	}
}

// take delivers the points of a frame. It reports whether the connection stays open, and whether there
// were points.
func (c *framedConnection) take(ctx context.Context, f *frame) (open, useful bool) {
	c.port.metrics.bytes.Add(float64(len(f.bytes)) + 4)
	_ = c.turn.Resume(ctx) // When the process stops, what was read is parsed without a turn.
	reason := c.port.parse(f, c.o.Now().Unix(), func(reason Reason, text []byte) { c.refuse(ctx, reason, text) })
	c.turn.Pause()
	if reason != 0 {
		c.refuse(ctx, reason, f.bytes)
	}
	open, useful = c.o.KeepOpen || !reason.closes(), len(f.points) > 0
	if !open || len(f.points) < netserver.PipelinePoints {
		c.pipeline.Wait()
		c.deliver(ctx, f)
		return open, useful
	}
	c.pipeline.Begin(func() { c.deliver(ctx, f) })
	return open, useful
}

// deliver hands the points of a frame to the sink and releases the frame.
func (c *framedConnection) deliver(ctx context.Context, f *frame) {
	c.port.metrics.lines.Add(float64(len(f.points)))
	for points := f.points; len(points) > 0; {
		n := min(len(points), maxPoints)
		c.delivery.write(ctx, points[:n])
		points = points[n:]
	}
	f.release()
}

// refuse counts what is no point, and logs it perhaps.
func (c *framedConnection) refuse(ctx context.Context, reason Reason, text []byte) {
	c.port.metrics.lines.Inc()
	c.metrics.rejected[reason].Inc()
	c.complain(ctx, reason, text, c.remote())
}

func (c *framedConnection) remote() string { return c.conn.RemoteAddr().String() }

// end counts a frame that was not read to its end. head is its length as it came.
func (c *framedConnection) end(ctx context.Context, f *frame, head []byte, err error) {
	switch {
	case errors.Is(err, io.EOF):
		return
	case errors.Is(err, errFrameTooLong):
		c.refuse(ctx, ReasonTooLong, head) // text, perhaps, which says who sends it
		return
	case len(f.bytes) > 0:
		c.refuse(ctx, ReasonUnfinished, f.bytes)
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.o.Logger.DebugContext(ctx, "carbon connection ended", "protocol", c.port.protocol, "client", c.conn.RemoteAddr().String(), "err", err)
	}
}
