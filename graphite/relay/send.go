package relay

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

const (
	// confirmAfter is how long a connection must have lasted after points were sent, and the other side's
	// system must have acknowledged their bytes, before the other carbon counts as having them: the protocol
	// has no acknowledgement, and what a connection holds when it breaks is lost. It is sent again on the next
	// one.
	confirmAfter = 10 * time.Second
	// mostHalvings bounds how often confirmAfter is halved when connections break sooner.
	mostHalvings = 16
	// confirmEvery is how often that is looked at.
	confirmEvery = time.Second
	// dialTimeout is for one attempt to connect.
	dialTimeout = 10 * time.Second
	// partTimeout is how long the other carbon may take, when this process stops, to read what was sent.
	partTimeout = 2 * time.Second
)

// The pauses between attempts to connect.
var connectPauses = retry.Pauses{First: 100 * time.Millisecond, Longest: 10 * time.Second}

var errClosed = errors.New("the other side has closed the connection")

// sender is what Forwarder.send knows.
type sender struct {
	at      log.Position // of the next record
	conn    *net.TCPConn
	written int64     // bytes, on this connection
	marks   []mark    // of what was sent on this connection and is not confirmed
	looked  time.Time // when the marks were last looked at
	// broken is how many connections have broken since something was confirmed. With each of them less is
	// asked of a connection: otherwise one that always breaks early would be sent the same points for ever.
	broken  int
	wire    wire
	points  []byte // memory
	outcome retry.Outcome
}

// mark tells when all records before a position had been sent, and how many bytes that were.
type mark struct {
	sent  time.Time
	bytes int64
	next  log.Position
}

// send keeps a connection, and sends what is in the spool, until ctx ends.
func (f *Forwarder) send(ctx context.Context) {
	f.sender.wire.protocol = f.o.Protocol
	for ctx.Err() == nil {
		retry.Until(ctx, connectPauses, func() bool {
			before := f.spool.Position()
			err := f.connected(ctx)
			if f.sender.outcome.Note(ctx, err) {
				f.o.Logger.WarnContext(ctx, "points for another carbon wait in the spool; see TsdbridgeForwardLag in docs/monitoring.md", "address", f.o.Address, "err", err)
			}
			return f.spool.Position() != before // it went well for some time: the pauses begin again
		})
	}
}

// connected connects, and sends until the connection breaks or ctx ends. What was not confirmed before is
// sent again.
func (f *Forwarder) connected(ctx context.Context) error {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Minute}}
	conn, err := dialer.DialContext(ctx, "tcp", f.o.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // what it had not sent is sent again
	f.metrics.connections.Inc()
	f.metrics.connected.Set(1)
	defer f.metrics.connected.Set(0)
	if f.sender.outcome.Err() != nil {
		f.sender.outcome.Set(nil)
		f.o.Logger.InfoContext(ctx, "connected to another carbon", "address", f.o.Address, "spooled_bytes", f.spool.Waiting())
	}
	lost := make(chan struct{})
	go watch(conn, lost)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	s := &f.sender
	s.conn, s.written, s.marks = conn.(*net.TCPConn), 0, s.marks[:0]
	if err = f.sendSpool(ctx, lost); ctx.Err() == nil {
		f.confirmSent()
		s.broken = min(s.broken+1, mostHalvings)
	}
	return err
}

// watch closes lost when the other side ends the connection. It sends nothing.
func watch(conn net.Conn, lost chan<- struct{}) {
	defer close(lost)
	var b [64]byte
	for {
		if _, err := conn.Read(b[:]); err != nil {
			return
		}
	}
}

// sendSpool sends what is in the spool, and what comes, on a connection.
func (f *Forwarder) sendSpool(ctx context.Context, lost <-chan struct{}) error {
	f.sender.at = f.spool.Position()
	look := time.NewTicker(confirmEvery)
	defer look.Stop()
	for {
		err := f.spool.Tail(ctx, f.sender.at, func(record []byte, next log.Position) error {
			select {
			case <-lost:
				return errClosed
			default:
			}
			return f.sendRecord(record, next)
		})
		switch {
		case ctx.Err() != nil:
			f.part(lost, err)
			return ctx.Err()
		case errors.Is(err, log.ErrCorrupt):
			if err := f.skipDamage(err); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		default:
			f.spool.Reading(0)
		}
		select {
		case <-f.spool.Grown():
		case <-look.C:
		case <-lost:
			return errClosed
		case <-ctx.Done():
		}
		f.look()
	}
}

// sendRecord sends the points of a record.
func (f *Forwarder) sendRecord(record []byte, next log.Position) error {
	s := &f.sender
	milliseconds, points, err := parseRecord(s.points, record)
	if err != nil {
		f.o.Logger.Error("a record of the spool cannot be read and is skipped; check the disk", "address", f.o.Address, "err", err)
		f.metrics.drop(dropDamage, 1)
		s.at = next
		return nil
	}
	f.spool.Reading(milliseconds)
	s.points = points
	bytes, sent, err := s.wire.encode(points)
	if err != nil {
		return err
	}
	n, err := s.conn.Write(bytes)
	s.written += int64(n)
	f.metrics.bytes.Add(float64(n))
	if err != nil {
		return err
	}
	f.metrics.points.Add(float64(sent))
	f.metrics.drop(dropForm, s.wire.refused)
	s.at = next
	s.marks = append(s.marks, mark{f.o.Now(), s.written, next})
	f.look()
	return nil
}

// look confirms what was sent long enough ago.
func (f *Forwarder) look() {
	s, now := &f.sender, f.o.Now()
	if now.Sub(s.looked) < min(confirmEvery, f.o.confirmAfter) {
		return
	}
	s.looked = now
	f.confirmSent()
}

// confirmSent confirms what the other carbon counts as having.
func (f *Forwarder) confirmSent() {
	s, now := &f.sender, f.o.Now()
	acknowledged, age := s.written-unacked(s.conn), f.o.confirmAfter>>s.broken
	n := 0
	for n < len(s.marks) && s.marks[n].bytes <= acknowledged && now.Sub(s.marks[n].sent) >= age {
		n++
	}
	if n > 0 {
		at := s.marks[n-1].next
		s.marks, s.broken = append(s.marks[:0], s.marks[n:]...), 0
		f.confirm(at)
	}
}

// part ends a connection in order, so that nothing is sent again after the next start: the other side has
// read all when it closes the connection too.
func (f *Forwarder) part(lost <-chan struct{}, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) || f.sender.conn.CloseWrite() != nil {
		return // a record may have been sent in part
	}
	timer := time.NewTimer(partTimeout)
	defer timer.Stop()
	select {
	case <-lost:
		f.confirm(f.sender.at)
	case <-timer.C:
	}
}

// skipDamage gives up what cannot be read after what was sent, and goes on behind it.
func (f *Forwarder) skipDamage(damage error) error {
	s := &f.sender
	next, lost, err := f.spool.Beyond(s.at)
	if err != nil {
		return err
	}
	f.o.Logger.Error("the spool is damaged, and points in it are not forwarded; look at the disk", "address", f.o.Address, "bytes", lost, "err", damage)
	f.metrics.drop(dropDamage, 1)
	s.at = next
	s.marks = append(s.marks, mark{f.o.Now(), s.written, next}) // confirmed when what was sent before is
	return nil
}
