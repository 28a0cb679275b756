package adapter

import (
	"context"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// newTrees returns the trees of the process.
func (a *Adapter) newTrees(db kv.KV) (*forest.Service, error) {
	declared, err := a.o.Graphite.definitions()
	if err != nil {
		return nil, err
	}
	return forest.NewService(db, forest.ServiceOptions{
		Forest: a.o.Graphite.treeOptions(a.o.Options, a.names), Declared: declared, Sources: a.o.Graphite.sources(), InTable: a.o.Graphite.TreeIndex == TreeIndexTable, Refresh: a.o.IndexRefresh,
		Logger: a.o.Logger, Registerer: a.registry, Now: a.o.Now,
	}), nil
}

// openGraphite makes Graphite's protocols and binds carbon's port.
func (a *Adapter) openGraphite() (err error) {
	if a.graphite, err = graphite.New(a.graphiteParts(a.o)); err != nil {
		return err
	}
	a.store.Catalog().OnRename(a.graphite.DropCaches)
	addresses := a.graphite.CarbonAddrs()
	for _, protocol := range slices.Sorted(maps.Keys(addresses)) {
		a.o.Logger.Info("listening", "protocol", protocol, "address", addresses[protocol], "udp", a.o.Carbon.UDP && addresses[protocol] == a.graphite.CarbonAddr())
	}
	return nil
}

// graphiteParts returns the settings and parts of Graphite's protocols.
func (a *Adapter) graphiteParts(o Options) graphite.Options {
	g := o.Graphite.Options
	g.Limits.Series, g.Limits.Points, g.Limits.Nodes = o.QuerySeries, o.QuerySamples, o.QuerySeries
	g.Limits.Timeout, g.Limits.Concurrency = o.QueryTimeout, o.QueryParallel
	if g.Limits.EditTimeout = 0; o.QueryTimeout > 0 {
		g.Limits.EditTimeout = o.outlasting(o.QueryTimeout)
	}
	g.Carbon = o.Carbon
	g.Carbon.SeriesCache = o.SeriesCache
	g.Carbon.Forward.Path, g.Carbon.Forward.HasSpace, g.Carbon.Forward.Owner = o.forwardPath(), o.HasSpoolSpace, a.spoolOwner
	g.Store, g.Trees, g.Names, g.Appender, g.Points = a.store, a.trees, a.names, a.store, a.store.Logged()
	g.Catalog, g.Documents, g.Annotations = a.store.Catalog(), a.store.Documents(), a.store.Annotations()
	if archives := a.store.Archives(); archives != nil {
		g.Archives = archives
	}
	g.Inverter, g.Prepared = a.trees.Forest(), a.trees.Prepared()
	g.Deleter, g.AllowDelete = a.store, a.o.AdminAPI
	g.Running, g.Refused, g.Sockets = a.running, a.refused, a.o.Sockets
	g.ShutdownGrace, g.Logger, g.Registerer, g.Now = a.o.ShutdownGrace, a.o.Logger, a.registry, a.o.Now
	return g
}

// liveGraphite is Graphite's side by the configuration that holds.
type liveGraphite struct{ adapter *Adapter }

// Steps returns the steps of series in seconds.
func (l liveGraphite) Steps(ctx context.Context, names map[storage.Ref]string, start, end int64) (map[storage.Ref]int64, error) {
	return l.adapter.live.Load().graphite.Steps(ctx, names, start, end)
}

// PathRefs returns the series that a path pattern names.
func (l liveGraphite) PathRefs(ctx context.Context, pattern string, start, end int64) ([]storage.Ref, error) {
	return l.adapter.live.Load().graphite.PathRefs(ctx, pattern, start, end)
}
