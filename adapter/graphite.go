package adapter

import (
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree"
)

// newTrees returns the trees of the process.
func (a *Adapter) newTrees(db kv.KV) (*tree.Service, error) {
	declared, err := a.o.Graphite.definitions()
	if err != nil {
		return nil, err
	}
	return tree.NewService(db, tree.ServiceOptions{
		Forest: a.o.treeOptions(a.names), Declared: declared, Sources: a.o.Graphite.sources(), InTable: a.o.Graphite.TreeIndex == TreeIndexTable, Refresh: a.o.IndexRefresh,
		Logger: a.o.Logger, Registerer: a.registry, Now: a.o.Now,
	}), nil
}

// openGraphite makes Graphite's protocols and binds carbon's port.
func (a *Adapter) openGraphite() (err error) {
	g := a.o.Graphite.Options
	g.Limits.Series, g.Limits.Points, g.Limits.Nodes = a.o.QuerySeries, a.o.QuerySamples, a.o.QuerySeries
	g.Limits.Timeout, g.Limits.Concurrency = a.o.QueryTimeout, a.o.QueryParallel
	g.Carbon = a.o.Carbon
	g.Carbon.SeriesCache = a.o.SeriesCache
	g.Carbon.Forward.Path, g.Carbon.Forward.HasSpace = a.o.forwardPath(), a.o.hasSpoolSpace
	g.Store, g.Trees, g.Names, g.Appender, g.Points = a.store, a.trees, a.names, a.store, a.store.Logged()
	g.Catalog, g.Documents, g.Annotations = a.store.Catalog(), a.store.Documents(), a.store.Annotations()
	if archives := a.store.Archives(); archives != nil {
		g.Archives = archives
	}
	g.Inverter, g.Prepared = a.trees.Forest(), a.trees.Prepared()
	g.Deleter, g.AllowDelete = a.store, a.o.AdminAPI
	g.Running, g.Sockets = a.running, a.o.Sockets
	g.ShutdownGrace, g.Logger, g.Registerer, g.Now = a.o.ShutdownGrace, a.o.Logger, a.registry, a.o.Now
	if a.graphite, err = graphite.New(g); err != nil {
		return err
	}
	a.store.Catalog().OnRename(a.graphite.DropCaches)
	addresses := a.graphite.CarbonAddrs()
	for _, protocol := range slices.Sorted(maps.Keys(addresses)) {
		a.o.Logger.Info("listening", "protocol", protocol, "address", addresses[protocol], "udp", a.o.Carbon.UDP && addresses[protocol] == a.graphite.CarbonAddr())
	}
	return nil
}
