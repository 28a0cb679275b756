// Package remotewrite sends what any protocol has stored to other servers by remote write: Prometheus'
// remote_write. A batch goes into a log on the disk, the spool of each destination, before it is
// acknowledged; so neither the absence of a destination nor the end of this process takes anything from it.
// Samples arrive in order, some of them twice.
//
// It knows the store by its batches and its names alone, and what a spool cannot keep it counts.
package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Options are the settings and the parts of a Manager. All but Owner must be given.
type Options struct {
	// Dir is the directory of the spools. Each destination has one below it to itself.
	Dir string
	// MaxBytes is --remote-write.max-bytes: of the files of a spool.
	MaxBytes int64
	// HasSpace reports whether the disk of a directory has space for more.
	HasSpace func(dir string) bool
	// Owner is the store that the spools belong to; nil: it has no name.
	Owner persistentqueue.Owner

	Catalog  Catalog
	Metadata Metadata
	// Labels translates stored names into labels.
	Labels func(storage.Series) labels.Labels

	segmentBytes, recordBytes int64 // of files and records of a spool; 0: segmentBytes and mostRecord

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Catalog names series.
type Catalog interface {
	// TSUIDsOf appends the TSUIDs of series that were resolved to dst, in order.
	TSUIDsOf(dst [][]byte, refs []storage.Ref) [][]byte
	// NameSeries names series, and leaves out those without a name.
	NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// Metadata knows the metadata of metrics by their stored names.
type Metadata interface {
	Metadata(ctx context.Context) (map[string]storage.Metadata, error)
}

// Settings are what a reload may change.
type Settings struct {
	// Remotes are the destinations: remote_write of the configuration file.
	Remotes []*config.RemoteWriteConfig
	// External are added to series that lack them: global.external_labels.
	External labels.Labels
}

// Validate refuses settings that cannot work.
func (s Settings) Validate() error {
	names := map[string]bool{}
	for _, r := range s.Remotes {
		name := nameOf(r)
		if names[name] {
			return fmt.Errorf("remote_write: two destinations have the name %q: give each a name of its own", name)
		}
		names[name] = true
	}
	return nil
}

// A Manager keeps the destinations. It is safe for concurrent use.
type Manager struct {
	o         Options
	metrics   *metrics
	recorders recorders
	live      atomic.Pointer[[]*destination] // what takes batches
	orphans   sync.Once                      // are told of

	mu      sync.Mutex             // guards the next
	running func() context.Context // of Run; nil: it does not run
}

// NewManager returns a Manager without destinations.
func NewManager(o Options) *Manager {
	m := &Manager{o: o, metrics: newMetrics(o.Registerer)}
	m.live.Store(&[]*destination{})
	return m
}

// Apply makes the settings hold. If it fails, what held before goes on.
func (m *Manager) Apply(s Settings) error {
	if err := s.Validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := *m.live.Load()
	senders, err := newSenders(before, s)
	if err != nil {
		return err
	}
	next, err := m.open(before, s)
	if err != nil {
		return err
	}
	m.live.Store(&next)
	m.orphans.Do(m.tellOrphans)
	for _, d := range before {
		if !slices.Contains(next, d) {
			m.drop(d)
		}
	}
	for i, d := range next {
		if senders[i] != nil {
			d.stop()
			d.use(senders[i])
			if m.running != nil {
				d.start(m.running())
			}
		}
	}
	return nil
}

// find returns the destination of settings, nil if there is none.
func find(all []*destination, r *config.RemoteWriteConfig) *destination {
	name := nameOf(r)
	if at := slices.IndexFunc(all, func(d *destination) bool { return d.name == name }); at >= 0 {
		return all[at]
	}
	return nil
}

// newSenders returns a sender of each destination, nil where the settings are those of the present one.
func newSenders(before []*destination, s Settings) ([]*sender, error) {
	all := make([]*sender, len(s.Remotes))
	for i, r := range s.Remotes {
		if d := find(before, r); d != nil && d.has(r, s.External) {
			continue
		}
		var err error
		if all[i], err = newSender(nameOf(r), r, s.External); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// open returns the destinations of settings: those that are there, and new ones, which have no sender yet.
func (m *Manager) open(before []*destination, s Settings) (all []*destination, err error) {
	var opened []*destination
	for _, r := range s.Remotes {
		d := find(before, r)
		if d == nil {
			if d, err = m.newDestination(nameOf(r)); err != nil {
				return nil, errors.Join(fmt.Errorf("remote_write: %s: %w", nameOf(r), err), m.giveUp(opened))
			}
			opened = append(opened, d)
		}
		all = append(all, d)
	}
	return all, nil
}

// giveUp closes destinations that were opened in vain.
func (m *Manager) giveUp(opened []*destination) (err error) {
	for _, d := range opened {
		m.metrics.forget(d.name)
		err = errors.Join(err, d.close())
	}
	return err
}

// drop ends a destination that is not wanted any more. Its spool stays: it may be wanted again.
func (m *Manager) drop(d *destination) {
	d.stop()
	if left := d.spool.Waiting(); left > 0 {
		m.o.Logger.Warn("a destination of remote_write was removed with samples that it does not have; they are sent if it comes back, or remove the directory", "destination", d.name, "directory", d.dir, "bytes", left)
	}
	if err := d.close(); err != nil {
		m.o.Logger.Warn("the spool of a removed destination of remote_write could not be closed, its points wait; restart when the disk is well", "destination", d.name, "err", err)
	}
	m.metrics.forget(d.name)
}

// tellOrphans tells of the spools that a process before left with samples, whose destinations are in the settings no
// more: they were removed, or have another name or address.
func (m *Manager) tellOrphans() {
	known := map[string]bool{}
	for _, d := range *m.live.Load() {
		known[d.dir] = true
	}
	all, _ := os.ReadDir(m.o.Dir) // without a directory there are none
	for _, entry := range all {
		dir := filepath.Join(m.o.Dir, entry.Name())
		if known[dir] || !entry.IsDir() {
			continue
		}
		if left, err := m.waitingIn(dir); err != nil || left > 0 {
			m.o.Logger.Warn("a spool has samples for a destination that remote_write does not have; they are sent if a destination of this name comes back, or remove the directory", "directory", dir, "bytes", left, "err", err)
		}
	}
}

// Appended takes a batch that the store has, and returns when the spools have it too, or when it is counted as
// dropped. It does not keep the batch.
func (m *Manager) Appended(b *storage.Batch) {
	all := *m.live.Load()
	if len(all) == 0 {
		return
	}
	records := m.recorders.encode(b, m.o.Catalog.TSUIDsOf, m.o.Now().UnixMilli())
	if len(all) == 1 {
		all[0].keep(records)
		return
	}
	var group errgroup.Group
	for _, d := range all {
		group.Go(func() error { d.keep(records); return nil })
	}
	_ = group.Wait() // no error: what is not kept is counted
}

// Run sends until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	m.mu.Lock()
	m.running = func() context.Context { return ctx }
	for _, d := range *m.live.Load() {
		d.start(ctx)
	}
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = nil
	for _, d := range *m.live.Load() {
		d.stop()
	}
	return nil
}

// DropCaches forgets the names of series.
func (m *Manager) DropCaches() {
	for _, d := range *m.live.Load() {
		d.dropNames()
	}
}

// Close closes the spools. Nothing is appended any more.
func (m *Manager) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for _, d := range *m.live.Swap(&[]*destination{}) {
		d.stop()
		err = errors.Join(err, d.close())
	}
	return err
}

// has reports whether a destination has these settings.
func (d *destination) has(r *config.RemoteWriteConfig, external labels.Labels) bool {
	return d.sender != nil && reflect.DeepEqual(d.sender.config, r) && labels.Equal(d.sender.external, external)
}
