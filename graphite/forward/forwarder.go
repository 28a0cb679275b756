// Package forward sends the points that come to another carbon, too: by way of a log on the disk, the spool, so
// that whoever sends the points never waits for the other carbon, and so that its absences, and the ends of
// this process, take nothing from it. Points arrive in order, some of them twice.
//
// It knows no store, and what it cannot keep it counts.
package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/statefile"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// Options are the settings of a Forwarder.
type Options struct {
	// Address is --carbon.forward: host:port of a carbon.
	Address string
	// Protocol is --carbon.forward-protocol.
	Protocol Protocol
	// Dir is the directory of the spool; a Forwarder has one below it to itself.
	Dir string
	// MaxBytes is --carbon.forward-max-bytes: of the files of the spool.
	MaxBytes int64
	// HasSpace reports whether the disk of a directory has space for more; nil: it has.
	HasSpace func(dir string) bool

	segmentBytes int64         // of a file of the spool; 0: segmentBytes
	confirmAfter time.Duration // 0: confirmAfter

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// segmentBytes is the size of a file of the spool. It has at least four.
const segmentBytes int64 = 8 << 20

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if _, port, err := net.SplitHostPort(o.Address); err != nil || port == "" {
		return fmt.Errorf("--carbon.forward=%s: want host:port", o.Address)
	}
	if least := 4 * cmp.Or(o.segmentBytes, segmentBytes); o.MaxBytes < least {
		return fmt.Errorf("--carbon.forward-max-bytes=%d: must be at least %d", o.MaxBytes, least)
	}
	return o.Protocol.validate()
}

// A Forwarder sends points to one carbon.
type Forwarder struct {
	o       Options
	log     *log.Log
	state   string // a file: how far the other carbon has the points
	gather  gather
	metrics *metrics
	spooled chan struct{} // holds one when the spool has grown
	sender  sender        // of the goroutine that sends
	refusal refusal       // of the goroutine that spools

	mu        sync.Mutex // guards all below
	confirmed log.Position
	oldest    int64 // milliseconds: when the first point came that is not sent; 0: all are
}

// sent is the document of the state.
type sent struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// New opens the spool. Run forwards; without Run, call Close.
func New(o Options) (*Forwarder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.segmentBytes, o.confirmAfter = cmp.Or(o.segmentBytes, segmentBytes), cmp.Or(o.confirmAfter, confirmAfter)
	dir := filepath.Join(o.Dir, strings.NewReplacer(":", "_", "/", "_", "\\", "_").Replace(o.Address))
	f := &Forwarder{o: o, state: filepath.Join(dir, "sent.json"), spooled: make(chan struct{}, 1)}
	f.gather.init()
	var err error
	f.log, err = log.Open(log.Options{
		Dir: filepath.Join(dir, "spool"), SegmentBytes: o.segmentBytes, MaxBytes: o.MaxBytes, SpareBytes: o.segmentBytes,
		MaxRecordBytes: 2 * recordPoints, Logger: o.Logger, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("--carbon.forward=%s: the spool %s: %w", o.Address, dir, err)
	}
	if err := f.loadState(); err != nil {
		return nil, errors.Join(fmt.Errorf("--carbon.forward=%s: %s: %w", o.Address, f.state, err), f.log.Close())
	}
	f.peek()
	f.metrics = newMetrics(f)
	return f, nil
}

var errPeeked = errors.New("one record is enough")

// peek notes when the oldest point came that the spool holds. What cannot be read shows when it is sent.
func (f *Forwarder) peek() {
	_ = f.log.Tail(context.Background(), f.confirmed, func(record []byte, _ log.Position) error {
		f.oldest, _, _ = parseRecord(nil, record)
		return errPeeked
	})
}

// loadState reads how far the other carbon has the points. A state of a spool that is gone counts for nothing.
func (f *Forwarder) loadState() error {
	var s sent
	if found, err := statefile.Read(f.state, &s); !found || err != nil {
		return err
	}
	if at := (log.Position{Segment: s.Segment, Offset: s.Offset}); at.Compare(f.log.End()) <= 0 {
		f.confirmed = at
	}
	return nil
}

// Put takes points, and never waits. It does not keep them or their names. It is safe for concurrent use.
func (f *Forwarder) Put(points []carbon.Point) {
	if dropped := f.gather.put(points, f.o.Now().UnixMilli()); dropped > 0 {
		f.metrics.drop(dropMemory, dropped)
	}
}

// Run forwards until ctx ends. It goes on taking points for the spool until ended is closed.
func (f *Forwarder) Run(ctx context.Context, ended <-chan struct{}) error {
	var group sync.WaitGroup
	group.Go(func() { f.spool(ended) })
	group.Go(func() { f.send(ctx) })
	group.Wait()
	return f.Close()
}

// Close closes the spool.
func (f *Forwarder) Close() error { return f.log.Close() }
