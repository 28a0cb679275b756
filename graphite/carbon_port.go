package graphite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// CarbonOptions are the settings of carbon's port.
type CarbonOptions struct {
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

// DefaultCarbonOptions returns the settings without any flag.
func DefaultCarbonOptions() CarbonOptions {
	return CarbonOptions{
		UDP: true, FrameBytes: carbon.DefaultOptions().FrameBytes, MaxConnections: 1000, SeriesCache: 2_000_000,
		Forward:     DefaultForwardOptions(),
		Aggregation: AggregationOptions{ForwardAll: true, MaxIntervals: 5, MaxBytes: 256 << 20},
	}
}

// Listens reports whether there is any port.
func (o CarbonOptions) Listens() bool {
	return o.ListenAddress != "" || o.PickleAddress != "" || o.ProtobufAddress != ""
}

// Validate names the flag that cannot work.
func (o CarbonOptions) Validate() error {
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

// carbonPort is carbon's listener and where its points go.
type carbonPort struct {
	listener *carbon.Listener
	ingest   *carbonSink
	names    *nameRules    // nil: none
	intake   *carbonIntake // nil: all points go to ingest
	prepared <-chan struct{}
}

func newCarbonPort(o Options, names *nameRules) (*carbonPort, error) {
	c := o.Carbon
	lo := carbon.DefaultOptions()
	lo.PickleAddress, lo.ProtobufAddress, lo.FrameBytes = c.PickleAddress, c.ProtobufAddress, c.FrameBytes
	lo.Address, lo.UDP, lo.MaxConnections, lo.IdleTimeout, lo.KeepOpen = c.ListenAddress, c.UDP, c.MaxConnections, c.IdleTimeout, c.KeepOpen
	lo.Sockets, lo.ShutdownGrace, lo.Logger, lo.Registerer, lo.Now = o.Sockets, o.ShutdownGrace, o.Logger, o.Registerer, o.Now
	lo.Refused = o.Refused
	p := &carbonPort{names: names, prepared: o.Prepared, ingest: newCarbonSink(sinkOptions{
		Names:    names,
		Appender: treeAppender{o.Points, o.Catalog, o.Inverter, o.Names},
		Paths:    func(name string) storage.Series { return seriesOf(o.Names, name) }, CacheEntries: c.SeriesCache, MaxFuture: c.MaxFuture,
		Refused: o.Refused, Logger: o.Logger, Registerer: o.Registerer, Now: o.Now,
	})}
	var err error
	if p.intake, err = newCarbonIntake(o, names, p.ingest); err != nil {
		return nil, err // it names the flag
	}
	if p.intake != nil {
		lo.Intake = p.intake.Take
	}
	if p.listener, err = carbon.New(lo); err != nil {
		return nil, errors.Join(err, p.intake.close())
	}
	return p, nil
}

// seriesOf returns the series of a Graphite name taken whole. A name without an element, such as
// "...", has none; the store refuses that.
func seriesOf(names *translate.Translator, name string) storage.Series {
	s, ok := names.FromAnyPath(name)
	if !ok {
		return storage.Series{}
	}
	return s
}

// run takes points until ctx ends. Until the trees are prepared, senders wait.
func (p *carbonPort) run(ctx context.Context) error {
	select {
	case <-p.prepared:
	case <-ctx.Done():
		return p.close()
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
	if p.intake != nil {
		group.Go(func() error { return p.intake.run(ctx, ended) })
	}
	return group.Wait()
}

// dropCaches forgets which series names have.
func (p *carbonPort) dropCaches() {
	p.ingest.DropCaches()
	p.intake.dropCaches()
}

// changed has the rules of names, which were read again, hold for names that are known.
func (p *carbonPort) changed(ctx context.Context) {
	p.ingest.DropCaches()
	p.intake.changed(ctx)
}

// close unbinds the port of one that never ran.
func (p *carbonPort) close() error { return errors.Join(p.listener.Close(), p.intake.close()) }
