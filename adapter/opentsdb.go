package adapter

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb"
)

// OpenTSDBOptions are those of the listener for OpenTSDB's own clients.
type OpenTSDBOptions struct {
	ListenAddress  string        // --opentsdb.listen-address; empty: no listener
	MaxConnections int           // --opentsdb.max-connections
	IdleTimeout    time.Duration // --opentsdb.idle-timeout; 0: never
	MaxTags        int           // --opentsdb.max-tags
	MaxFuture      time.Duration // --opentsdb.max-future: how far ahead of the clock a point may be; 0: any time
}

// DefaultOpenTSDBOptions are the options without any flag.
func DefaultOpenTSDBOptions() OpenTSDBOptions {
	listener, ingest := opentsdb.DefaultOptions(), opentsdb.DefaultIngestOptions()
	return OpenTSDBOptions{MaxConnections: listener.MaxConnections, MaxTags: ingest.MaxTags}
}

// Validate names the flag that cannot work.
func (o OpenTSDBOptions) Validate() error {
	if o.ListenAddress == "" {
		return nil
	}
	if err := o.listener().Validate(); err != nil {
		return err
	}
	return o.ingest().Validate()
}

func (o OpenTSDBOptions) listener() opentsdb.Options {
	l := opentsdb.DefaultOptions()
	l.Address, l.MaxConnections, l.IdleTimeout = o.ListenAddress, o.MaxConnections, o.IdleTimeout
	return l
}

func (o OpenTSDBOptions) ingest() opentsdb.IngestOptions {
	i := opentsdb.DefaultIngestOptions()
	i.MaxTags, i.MaxFuture = o.MaxTags, o.MaxFuture
	return i
}

// listenOpenTSDB binds the port of OpenTSDB's clients.
func (a *Adapter) listenOpenTSDB() error {
	o := a.o.OpenTSDB
	if o.ListenAddress == "" {
		return nil
	}
	l := o.listener()
	l.ShutdownGrace, l.Version, l.Logger, l.Registerer, l.Now = a.o.ShutdownGrace, Version(), a.o.Logger, a.registry, a.o.Now
	var err error
	if a.opentsdb, err = opentsdb.New(l); err != nil {
		return err // it names the flag
	}
	a.o.Logger.Info("listening", "protocol", "opentsdb", "address", a.opentsdb.Addr().String())
	return nil
}

// serveOpenTSDB takes points until ctx ends.
func (a *Adapter) serveOpenTSDB(ctx context.Context) error {
	if a.opentsdb == nil {
		return nil
	}
	i := a.o.OpenTSDB.ingest()
	i.CacheEntries = a.o.SeriesCache
	i.Appender, i.Registerer, i.Now = a.store.Logged(), a.registry, a.o.Now
	ingest := opentsdb.NewIngest(i)
	a.store.OnRename(ingest.DropCaches)
	return a.opentsdb.Run(ctx, ingest, opentsdb.NewAPI(opentsdb.DefaultAPIOptions(), ingest))
}
