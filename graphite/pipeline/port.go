// Package pipeline takes the points that carbon's listeners read, as carbon's daemons do: which names are taken, and what they
// become; what is computed of points, and where else they go. It stores them under the series that trees make of their names.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

// Options are the settings of carbon's ports.
type Options struct {
	// ListenAddress is --carbon.listen-address, of TCP and UDP; empty: no port.
	ListenAddress string
	// PickleAddress is --carbon.pickle-listen-address, ProtobufAddress --carbon.protobuf-listen-address;
	// empty: no port.
	PickleAddress, ProtobufAddress string
	// FrameBytes is --carbon.max-frame-bytes: of a frame of these.
	FrameBytes int
	// Whitelist is --carbon.whitelist, Blacklist --carbon.blacklist, Rewrites --carbon.rewrite-rules: files
	// of carbon; empty: none.
	Whitelist, Blacklist, Rewrites string
	// Aggregation is what is computed of points.
	Aggregation AggregationOptions
	// Forward is where points are sent in addition.
	Forward ForwardOptions
	// UDP is --carbon.udp: listen for datagrams too.
	UDP bool
	// MaxConnections is --carbon.max-connections: TCP connections at once.
	MaxConnections int
	// IdleTimeout is --carbon.idle-timeout: a silent connection is closed after it; 0: never.
	IdleTimeout time.Duration
	// KeepOpen is --carbon.keep-open: lines over which carbon closes a connection are skipped.
	KeepOpen bool
	// MaxFuture is --carbon.max-future: how far ahead of the clock a point may be; 0: no limit.
	MaxFuture time.Duration
	// SeriesCache is --storage.series-cache, in entries.
	SeriesCache int
}

// DefaultOptions returns the settings without any flag.
func DefaultOptions() Options {
	return Options{
		UDP: true, FrameBytes: carbon.DefaultOptions().FrameBytes, MaxConnections: 1000, SeriesCache: 2_000_000,
		Forward:     defaultForwardOptions(),
		Aggregation: AggregationOptions{ForwardAll: true, MaxIntervals: 5, MaxBytes: 256 << 20},
	}
}

// Listens reports whether there is any port.
func (o Options) Listens() bool {
	return o.ListenAddress != "" || o.PickleAddress != "" || o.ProtobufAddress != ""
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	switch {
	case o.MaxConnections <= 0:
		return errors.New("--carbon.max-connections must be above 0")
	case o.IdleTimeout < 0:
		return errors.New("--carbon.idle-timeout must not be negative")
	case o.MaxFuture < 0:
		return errors.New("--carbon.max-future must not be negative")
	}
	if len(o.Forward.Addresses) > 0 && !o.Listens() {
		return errors.New("--carbon.forward: there is no listener whose points could be forwarded, see --carbon.listen-address")
	}
	return o.Aggregation.validate()
}

func (o AggregationOptions) validate() error {
	switch {
	case o.MaxIntervals < 0:
		return fmt.Errorf("--carbon.aggregation-max-intervals=%d: must not be negative", o.MaxIntervals)
	case o.WriteBack < 0 || o.WriteBack%time.Second != 0:
		return fmt.Errorf("--carbon.aggregation-write-back=%v: must be whole seconds, or 0", o.WriteBack)
	case o.MaxBytes <= 0:
		return errors.New("--carbon.aggregation-max-bytes must be above 0")
	}
	return nil
}

// Parts are what a Port works with.
type Parts struct {
	// Store takes points and new series.
	Store Store
	// Refused keeps samples of what is refused; nil: nothing is kept.
	Refused *rejections.Log
	// Prepared is closed when the trees are known: what a name means depends on them.
	Prepared <-chan struct{}
	// Sockets are bound already, and taken for the addresses that they have; nil: none.
	Sockets *netserver.Sockets
	// ShutdownGrace is how long the store may take for points when the process is told to stop.
	ShutdownGrace time.Duration
	Logger        *slog.Logger
	Registerer    prometheus.Registerer
	Now           func() time.Time
}

// A Port is carbon's listeners and where their points go.
type Port struct {
	listener *carbon.Listener
	ingest   *sink
	names    *Rules // nil: none
	fork     *fork  // nil: all points go to ingest
	prepared <-chan struct{}
}

// NewPort binds the addresses. Run serves them; without Run, call Close.
func NewPort(c Options, p Parts, names *Rules) (*Port, error) {
	lo := carbon.DefaultOptions()
	lo.PickleAddress, lo.ProtobufAddress, lo.FrameBytes = c.PickleAddress, c.ProtobufAddress, c.FrameBytes
	lo.Address, lo.UDP, lo.MaxConnections, lo.IdleTimeout, lo.KeepOpen = c.ListenAddress, c.UDP, c.MaxConnections, c.IdleTimeout, c.KeepOpen
	lo.Sockets, lo.ShutdownGrace, lo.Logger, lo.Registerer, lo.Now = p.Sockets, p.ShutdownGrace, p.Logger, p.Registerer, p.Now
	lo.Refused = p.Refused
	port := &Port{names: names, prepared: p.Prepared, ingest: newSink(sinkOptions{
		Names: names, Appender: p.Store, Paths: p.Store.SeriesOf, CacheEntries: c.SeriesCache, MaxFuture: c.MaxFuture,
		Refused: p.Refused, Logger: p.Logger, Registerer: p.Registerer, Now: p.Now,
	})}
	var err error
	if port.fork, err = newFork(c, p, names, port.ingest); err != nil {
		return nil, err // it names the flag
	}
	if port.fork != nil {
		lo.Intake = port.fork.Take
	}
	if port.listener, err = carbon.New(lo); err != nil {
		return nil, errors.Join(err, port.fork.close())
	}
	return port, nil
}

// Run takes points until ctx ends. Until the trees are prepared, senders wait.
func (p *Port) Run(ctx context.Context) error {
	select {
	case <-p.prepared:
	case <-ctx.Done():
		return p.Close()
	}
	group, ctx := errgroup.WithContext(ctx)
	if p.names != nil {
		group.Go(func() error { return p.names.watch(ctx, func() { p.changed(ctx) }) })
	}
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		return p.listener.Run(ctx, p.ingest)
	})
	if p.fork != nil {
		group.Go(func() error { return p.fork.run(ctx, ended) })
	}
	return group.Wait()
}

// DropCaches forgets which series names have.
func (p *Port) DropCaches() {
	p.ingest.DropCaches()
	p.fork.dropCaches()
}

// changed has the rules of names, which were read again, hold for names that are known.
func (p *Port) changed(ctx context.Context) {
	p.ingest.DropCaches()
	p.fork.changed(ctx)
}

// Addresses returns the addresses that are bound, by protocol: "carbon", which are lines, "carbon pickle", "carbon protobuf".
func (p *Port) Addresses() map[string]string {
	all := map[string]string{}
	for _, address := range p.listener.Addresses() {
		all[address.Protocol] = address.String()
	}
	return all
}

// Close unbinds the port of one that never ran.
func (p *Port) Close() error { return errors.Join(p.listener.Close(), p.fork.close()) }
