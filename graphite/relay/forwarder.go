// Package relay sends the points that come to another carbon, too: by way of a log on the disk, the spool, so
// that whoever sends the points never waits for the other carbon, and so that its absences, and the ends of
// this process, take nothing from it. Points arrive in order, some of them twice.
//
// It knows no store, and what it cannot keep it counts.
package relay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
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
	// Owner is the store that the spool belongs to; see persistentqueue.Options.
	Owner persistentqueue.Owner

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
	spool   *persistentqueue.Queue
	gather  gather
	metrics *metrics
	sender  sender // of the goroutine that sends
}

// New opens the spool. Run forwards; without Run, call Close.
func New(o Options) (*Forwarder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.segmentBytes, o.confirmAfter = cmp.Or(o.segmentBytes, segmentBytes), cmp.Or(o.confirmAfter, confirmAfter)
	dir := filepath.Join(o.Dir, strings.NewReplacer(":", "_", "/", "_", "\\", "_").Replace(o.Address))
	f := &Forwarder{o: o}
	f.gather.init()
	var err error
	f.spool, err = persistentqueue.Open(persistentqueue.Options{
		Dir: dir, SegmentBytes: o.segmentBytes, MaxBytes: o.MaxBytes, MaxRecordBytes: 2 * recordPoints,
		HasSpace: func() bool { return o.HasSpace == nil || o.HasSpace(o.Dir) }, CameAt: cameAt, Owner: o.Owner, Logger: o.Logger, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("--carbon.forward=%s: %w", o.Address, err)
	}
	if why := f.spool.Again(); why != "" {
		o.Logger.Warn("all points that the spool has are sent to another carbon again, which does no harm; nothing is to be done", "address", o.Address, "reason", why)
	}
	f.metrics = newMetrics(f)
	return f, nil
}

// cameAt returns when the first point of a record came.
func cameAt(record []byte) (milliseconds int64, err error) {
	milliseconds, _, err = parseRecord(nil, record)
	return milliseconds, err
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
	group.Go(func() { f.put(ended) })
	group.Go(func() { f.send(ctx) })
	group.Wait()
	return f.Close()
}

// Close closes the spool.
func (f *Forwarder) Close() error { return f.spool.Close() }
