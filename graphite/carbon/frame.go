package carbon

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// Frames are what carbon's protocols of binary points send: four bytes with the length, the first one the
// highest, and so many bytes.

const (
	// frameBudget is what the frames of all connections may take that are arriving or waiting for the
	// store, in bytes. The points of a frame take at most five times its length.
	frameBudget = 64 << 20
	// keptFrame is how much memory of a frame a connection keeps for the next one, in bytes.
	keptFrame = 64 << 10
	// leastPoint is how many bytes a point has in a frame, at least.
	leastPoint = 8
)

var errFrameTooLong = errors.New("the frame is too long")

// A frame is one that a connection has read, with its points.
type frame struct {
	bytes  []byte
	share  netserver.Share
	points []Point // their names are in bytes or in text
	named  int     // bytes of their names
	text   []byte
}

// mostNamed is how many times as long as a frame the names of its points may be together. Points of one series
// may share a name; a frame of little else than such points would take much longer to store than to send.
const mostNamed = 64

// full reports whether no more points can be in the frame.
func (f *frame) full() bool {
	return len(f.points) > len(f.bytes)/leastPoint || f.named > mostNamed*len(f.bytes)
}

// add adds a point.
func (f *frame) add(p Point) {
	f.points = append(f.points, p)
	f.named += len(p.Name)
}

// empty takes all points out again.
func (f *frame) empty() {
	clear(f.points)
	f.points, f.named = f.points[:0], 0
}

// release gives back the memory of the frame.
func (f *frame) release() {
	f.empty()
	f.text, f.bytes = f.text[:0], f.bytes[:0]
	if cap(f.bytes)+cap(f.text) > keptFrame || cap(f.points) > maxPoints {
		f.points, f.text, f.bytes = nil, nil, nil
	}
	f.share.Release()
}

// frameReader reads frames from a connection. Its memory grows with the bytes that have arrived.
type frameReader struct {
	conn    net.Conn
	buffer  *bufio.Reader
	longest int              // bytes of a frame
	idle    time.Duration    // 0: no limit
	share   *netserver.Share // of the frame that is arriving
	head    [4]byte
	stopped func() error
}

func newFrameReader(ctx context.Context, conn net.Conn, longest int, idle time.Duration) *frameReader {
	r := &frameReader{conn: conn, longest: longest, idle: idle, stopped: ctx.Err}
	r.buffer = bufio.NewReaderSize(arriving{r}, netserver.FirstBuffer)
	return r
}

// next reads a frame. io.EOF means that the connection ended before it.
func (r *frameReader) next(f *frame) error {
	r.share = nil
	if _, err := io.ReadFull(r.buffer, r.head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(r.head[:]))
	if n > int64(r.longest) {
		return errFrameTooLong
	}
	r.share = &f.share
	f.share.Receiving(func() { _ = r.conn.SetReadDeadline(past) })
	defer f.share.Received()
	var err error
	body := netserver.Body{Claimed: n, Limit: int(n), Share: &f.share}
	if f.bytes, err = body.ReadBody(f.bytes[:0], io.LimitReader(r.buffer, n)); err != nil {
		return err
	}
	if int64(len(f.bytes)) < n {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// arriving are the bytes of a connection, as they arrive.
type arriving struct{ *frameReader }

// Read implements io.Reader. The deadline is set before it is looked for what ends the reading: who ends
// it sets one of its own afterwards.
func (r arriving) Read(b []byte) (int, error) {
	deadline := time.Time{}
	if r.idle > 0 {
		deadline = time.Now().Add(r.idle)
	}
	if err := r.conn.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	if r.share != nil && r.share.WasCut() {
		return 0, netserver.ErrBusy
	}
	if err := r.stopped(); err != nil {
		return 0, err
	}
	return r.conn.Read(b)
}
