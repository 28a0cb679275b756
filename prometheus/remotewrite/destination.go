package remotewrite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/prometheus/prometheus/config"

	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// segmentBytes is the size of a file of a spool. It has at least four.
const segmentBytes int64 = 32 << 20

// MinBytes is the smallest size of a spool.
const MinBytes = 4 * segmentBytes

// A destination is a server that batches are sent to, with its spool.
type destination struct {
	m       *Manager
	name    string
	dir     string
	spool   *persistentqueue.Queue
	metrics *remoteMetrics
	names   atomic.Pointer[names]

	// What follows belongs to the Manager.
	sender *sender
	cancel context.CancelFunc // of the sender; nil: it does not run
	ended  chan struct{}      // closed when the sender has ended
}

// nameOf returns the name of a destination: the given one, or one made of the URL.
func nameOf(r *config.RemoteWriteConfig) string {
	if r.Name != "" {
		return r.Name
	}
	sum := sha256.Sum256([]byte(r.URL.String()))
	return r.URL.Host + "-" + hex.EncodeToString(sum[:4])
}

// dirOf returns the name of the directory of a destination.
func dirOf(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if safe == name {
		return safe
	}
	sum := sha256.Sum256([]byte(name))
	return safe[:min(len(safe), 64)] + "-" + hex.EncodeToString(sum[:4])
}

// newDestination opens the spool of a destination.
func (m *Manager) newDestination(name string) (*destination, error) {
	d := &destination{m: m, name: name, dir: filepath.Join(m.o.Dir, dirOf(name))}
	var err error
	if d.spool, err = m.openSpool(d.dir); err != nil {
		return nil, err
	}
	if why := d.spool.Again(); why != "" {
		m.o.Logger.Warn("all samples that the spool has are sent to a destination of remote_write again, which does no harm; nothing is to be done", "destination", name, "reason", why)
	}
	d.metrics = m.metrics.of(d)
	return d, nil
}

func (m *Manager) openSpool(dir string) (*persistentqueue.Queue, error) {
	segment := cmp.Or(m.o.segmentBytes, segmentBytes)
	return persistentqueue.Open(persistentqueue.Options{
		Dir: dir, SegmentBytes: segment, MaxBytes: max(m.o.MaxBytes, 4*segment), MaxRecordBytes: cmp.Or(m.o.recordBytes, mostRecord),
		HasSpace: func() bool { return m.o.HasSpace(m.o.Dir) }, CameAt: cameAt, Owner: m.o.Owner, Logger: m.o.Logger, Now: m.o.Now,
	})
}

// waitingIn returns how many bytes wait in a spool that has no destination; 0 if there is no spool.
func (m *Manager) waitingIn(dir string) (int64, error) {
	if _, err := os.Stat(filepath.Join(dir, "spool")); err != nil {
		return 0, nil //nolint:nilerr // the directory is of somebody else
	}
	s, err := m.openSpool(dir)
	if err != nil {
		return 0, err
	}
	return s.Waiting(), s.Close()
}

// keep puts records into the spool, or counts them.
func (d *destination) keep(r records) {
	d.metrics.drop(dropForm, r.refused)
	k, o := d.spool.Keep(r.all, r.came, r.entries), d.m.o
	if errors.Is(k.Err, log.ErrClosed) {
		return // it was removed a moment ago
	}
	if k.Ends {
		o.Logger.Info("the spool takes all samples for a destination of remote_write again", "destination", d.name, "dropped", k.Dropped)
	}
	if k.Err != nil {
		d.metrics.drop(k.Reason, r.entries)
	}
	if k.Begins {
		o.Logger.Warn("the spool takes no samples for a destination of remote_write, they are stored here but not sent; look why it takes none, or give the spool more space (--remote-write.max-bytes)",
			"destination", d.name, "directory", d.dir, "limit", o.MaxBytes, "err", k.Err)
	}
}

// confirm notes that the server has everything before a position, and forgets it.
func (d *destination) confirm(ctx context.Context, at log.Position) {
	if news, err := d.spool.Confirm(ctx, at); news {
		d.m.o.Logger.Warn("how far samples were sent by remote_write cannot be saved; after a restart they are sent again. Check the disk", "destination", d.name, "err", err)
	}
}

// use gives a destination a sender that does not run yet. The one before does not run any more.
func (d *destination) use(s *sender) {
	n := &names{catalog: d.m.o.Catalog, toLabels: d.m.o.Labels, external: s.external, rules: s.config.WriteRelabelConfigs}
	n.forget()
	d.names.Store(n)
	s.d, d.sender = d, s
}

// start runs the sender until ctx ends.
func (d *destination) start(ctx context.Context) {
	if d.cancel != nil {
		return
	}
	ctx, d.cancel = context.WithCancel(ctx)
	d.ended = make(chan struct{})
	go func() {
		defer close(d.ended)
		d.sender.run(ctx)
	}()
}

// stop ends the sender, and waits for it.
func (d *destination) stop() {
	if d.cancel != nil {
		d.cancel()
		<-d.ended
		d.cancel = nil
	}
}

func (d *destination) close() error { return d.spool.Close() }

// dropNames forgets the names of series.
func (d *destination) dropNames() {
	if n := d.names.Load(); n != nil {
		n.forget()
	}
}
