package adapter

import "github.com/tsdbridge/tsdbridge/opentsdb"

// openOpenTSDB makes OpenTSDB's protocols and binds their port.
func (a *Adapter) openOpenTSDB() (err error) {
	if a.opentsdb, err = opentsdb.New(a.opentsdbParts(a.o)); err != nil {
		return err // the error names the flag
	}
	a.store.Catalog().OnRename(a.opentsdb.DropCaches)
	if address := a.opentsdb.Addr(); address != "" {
		a.o.Logger.Info("listening", "protocol", "opentsdb", "address", address)
	}
	return nil
}

// opentsdbParts returns the settings and parts of OpenTSDB's protocols.
func (a *Adapter) opentsdbParts(all Options) (o opentsdb.Options) {
	o = all.OpenTSDB
	o.SeriesCache, o.Points = all.SeriesCache, a.store.Logged()
	o.Store, o.Deleter, o.Renamer, o.Catalog, o.Names, o.Layout = a.store, a.store, a.store, a.store.Catalog(), a.store.Names(), a.o.Layout()
	o.Annotations, o.Metadata, o.Histograms = a.store.Annotations(), a.store.Documents(), a.store
	if rollups := a.store.Rollups(); rollups != nil {
		o.Rollups = rollups
	}
	o.Trees, o.Documents = a.trees, a.store.Documents()
	o.MaxSeries, o.MaxSamples, o.Timeout, o.Concurrency = all.QuerySeries, all.QuerySamples, all.QueryTimeout, all.QueryParallel
	o.Budget, o.Running, o.Refused, o.Protect, o.Sockets = a.budget, a.running, a.refused, a.protect, a.o.Sockets
	o.Hosts, o.StoreTimeout = a.hosts, all.StoreTimeout()
	o.ShutdownGrace, o.Version, o.Logger, o.Registerer, o.Now = a.o.ShutdownGrace, Version(), a.o.Logger, a.registry, a.o.Now
	o.TLS = a.tls()
	return o
}
