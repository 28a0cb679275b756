package adapter

import "github.com/tsdbridge/tsdbridge/opentsdb"

// openOpenTSDB makes OpenTSDB's protocols and binds their port.
func (a *Adapter) openOpenTSDB() (err error) {
	o := a.o.OpenTSDB
	o.SeriesCache, o.Points = a.o.SeriesCache, a.store.Logged()
	o.Store, o.Catalog, o.Names, o.Layout = a.store, a.store.Catalog(), a.store.Names(), a.o.layout()
	o.MaxSeries, o.MaxSamples, o.Timeout, o.Concurrency = a.o.QuerySeries, a.o.QuerySamples, a.o.QueryTimeout, a.o.QueryParallel
	o.Budget, o.Running, o.Protect = a.budget, a.running, a.protect
	o.ShutdownGrace, o.Version, o.Logger, o.Registerer, o.Now = a.o.ShutdownGrace, Version(), a.o.Logger, a.registry, a.o.Now
	if a.opentsdb, err = opentsdb.New(o); err != nil {
		return err // the error names the flag
	}
	a.store.Catalog().OnRename(a.opentsdb.DropCaches)
	if address := a.opentsdb.Addr(); address != "" {
		a.o.Logger.Info("listening", "protocol", "opentsdb", "address", address)
	}
	return nil
}
