package carbon

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/internal/retry"
)

const (
	// maxDatagram is the largest payload that UDP has.
	maxDatagram = 65535
	// socketBuffer is how many bytes of datagrams the kernel is asked to hold.
	socketBuffer = 8 << 20
	// datagramCost is what a datagram takes of the queue in addition to its bytes.
	datagramCost = 64
)

// datagramQueue holds datagrams between the socket and the store, one after the other in one
// buffer, so that those that come while the store is busy reach it together.
type datagramQueue struct {
	limit int           // bytes
	ready chan struct{} // holds one when there are datagrams; closed when no more will come

	mu   sync.Mutex // guards all below
	held datagrams
}

// datagrams are datagrams in the order in which they came.
type datagrams struct {
	bytes []byte
	each  []datagram
}

// datagram is one, up to end in bytes.
type datagram struct {
	end  int
	from netip.AddrPort
}

func newDatagramQueue(limit int) *datagramQueue {
	return &datagramQueue{limit: limit, ready: make(chan struct{}, 1)}
}

// put adds a copy of a datagram; false if it does not fit.
func (q *datagramQueue) put(b []byte, from netip.AddrPort) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if used := len(q.held.bytes) + datagramCost*len(q.held.each); used > 0 && used+len(b)+datagramCost > q.limit {
		return false
	}
	q.held.bytes = append(q.held.bytes, b...)
	q.held.each = append(q.held.each, datagram{len(q.held.bytes), from})
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns all datagrams and keeps the memory of others for the next.
func (q *datagramQueue) take(empty datagrams) datagrams {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.held
	q.held = datagrams{empty.bytes[:0], empty.each[:0]}
	return taken
}

// receive queues datagrams until ctx ends.
func (l *Listener) receive(ctx context.Context, q *datagramQueue) error {
	defer func() { _ = l.udp.Close() }()
	defer close(q.ready)
	stop := context.AfterFunc(ctx, func() { _ = l.udp.SetReadDeadline(past) })
	defer stop()
	buf := make([]byte, maxDatagram)
	var pauses netserver.Pauses
	for ctx.Err() == nil {
		n, from, err := l.udp.ReadFromUDPAddrPort(buf)
		if err != nil {
			if ctx.Err() == nil {
				l.o.Logger.WarnContext(ctx, "carbon datagrams are not received, which is retried; fix the error", "err", err)
				retry.Sleep(ctx, pauses.Next())
			}
			continue
		}
		pauses.Reset()
		l.metrics.datagrams.Inc()
		l.metrics.udp.bytes.Add(float64(n))
		if !q.put(buf[:n], from) {
			l.metrics.droppedDatagrams.Inc()
			l.metrics.droppedBytes.Add(float64(n))
		}
	}
	return nil
}

// serveDatagrams delivers queued datagrams until the queue is closed.
func (l *Listener) serveDatagrams(ctx context.Context, q *datagramQueue, d *delivery) {
	var taken datagrams
	for open := true; open; {
		_, open = <-q.ready
		taken = q.take(taken)
		b := l.newBatch(d, l.metrics.udp)
		start := 0
		ctx := rejections.WithClient(ctx, taken.senders)
		for _, each := range taken.each {
			l.addDatagram(ctx, b, taken.bytes[start:each.end], each.from)
			start = each.end
		}
		b.end(ctx)
	}
}

// senders names who sent the datagrams: their points are stored together.
func (d *datagrams) senders() string {
	var all []string
	for _, each := range d.each {
		if from := each.from.String(); !slices.Contains(all, from) {
			all = append(all, from)
		}
		if len(all) > mostSenders {
			return fmt.Sprintf("one of %s and others", strings.Join(all[:mostSenders], ", "))
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return "one of " + strings.Join(all, ", ")
}

// mostSenders bounds the senders that are named.
const mostSenders = 4

// addDatagram adds the points of one datagram. A datagram that is not UTF-8 is lost, and so are the
// lines after an infinite timestamp: carbon does not catch these two errors.
func (l *Listener) addDatagram(ctx context.Context, b *batch, bytes []byte, from netip.AddrPort) {
	lost := Reason(0)
	if !l.o.KeepOpen && !utf8.Valid(bytes) {
		lost = ReasonUTF8
	}
	for len(bytes) > 0 {
		if lost == 0 {
			bytes = bytes[b.addPlain(ctx, bytes):]
		}
		var line []byte
		line, bytes = cutDatagram(bytes)
		reason := lost
		if reason == 0 {
			reason = b.add(ctx, line)
		}
		if reason == 0 {
			continue
		}
		b.refuse(ctx, reason, line, from.String)
		if reason == ReasonTimestampInf && !l.o.KeepOpen {
			lost = reason
		}
	}
}

// cutDatagram cuts off the first line as Python's str.splitlines does, which knows more line ends
// than the newline. The last line needs none.
func cutDatagram(b []byte) (line, rest []byte) {
	for i := 0; i < len(b); {
		r, size := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
		}
		switch r {
		case '\r':
			if i+1 < len(b) && b[i+1] == '\n' {
				return b[:i], b[i+2:]
			}
			return b[:i], b[i+1:]
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			return b[:i], b[i+size:]
		}
		i += size
	}
	return b, nil
}
