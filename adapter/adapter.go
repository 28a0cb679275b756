// Package adapter is the process: it opens the engine and the store, wires the protocols to them,
// and serves them together with the admin API and the status pages. It opens tables for the commands. It implements no
// protocol itself.
package adapter

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/backups"
	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/memory"
	"github.com/tsdbridge/tsdbridge/adapter/status"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/logging"
	"github.com/tsdbridge/tsdbridge/internal/persistentqueue"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// Adapter is one running tsdbridge.
type Adapter struct {
	opened
	ports
	prometheus *prom.Server
	opentsdb   *opentsdb.Server // nil before it was made
	running    *query.Registry  // of all queries
	started    time.Time
	log        *logging.Recent
	refused    *rejections.Log // of all doors
	transfers  *admin.Transfers
	backups    backups.Times
	admin      *admin.API // nil without --web.enable-admin-api
	status     *status.Probe
	forward    forwarding

	spoolOwner persistentqueue.Owner // nil: the store has no name

	reloader *reloader
	live     atomic.Pointer[generation] // what answers requests now
}

// lockWait is how long a start waits for a store that is in use: the previous process may have been
// killed and still be ending.
const lockWait = 5 * time.Second

// keptLog is how many warnings and errors of the log are kept.
const keptLog = 200

// New opens the store and the listener. Run serves; without Run, call Close.
func New(o Options) (*Adapter, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	log, handler := logging.WatchRecent(logging.RateLimit(o.Logger.Handler()), keptLog)
	o.Logger = slog.New(handler)
	if !o.Command {
		o.fitOpenFiles(openFiles())
	}
	registry := prometheus.NewRegistry()
	a := &Adapter{opened: opened{o: o, registry: registry}, ports: ports{options: o, registerer: registry}, log: log, running: query.NewRegistry(), started: o.Now()}
	a.running.Watch(o.QuerySlow, func(s query.Slow) { logSlow(o.Logger, s) })
	a.running.Measure(a.registry, "promql", "graphite", "opentsdb", "remote read", "native export", "federation")
	a.reloader = newReloader(a)
	a.refused = rejections.New(o.Logger, o.Now)
	a.transfers = admin.NewTransfers(o.Now)
	registerBuildInfo(a.registry)
	a.registry.MustRegister(o.Tracer)
	if o.Engine == tables.EngineEmbedded {
		a.backups.Register(a.registry)
	}
	a.names, _ = o.Translator() // checked by Validate
	a.hosts, _ = o.hosts()      // too
	a.budget = memory.NewBudget(o.queryMemory(), a.registry)
	wait := lockWait
	if o.Command {
		wait = 0
	}
	db, engine, err := tables.Open(o.Options, a.registry, wait)
	if err != nil {
		return nil, err
	}
	a.db, a.engine = db, engine
	so := o.tables().StoreOptions()
	so.Registerer = a.registry
	if a.trees, err = a.newTrees(db); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	so.Appended = a.forward.appended
	so.Observer, so.RetentionRules = a.trees, config.RetentionRules(o.RetentionRules, a.names)
	if so.FillRules, err = config.FillRules(o.FillRules, a.names, so.Rollups); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	// a cluster may be down: Run checks its tables
	if a.store, err = store.New(db, so); err == nil && o.Engine != tables.EngineHBase {
		if err = a.store.PinLayout(context.Background()); errors.Is(err, storage.ErrFull) {
			err = nil // the disk of a new store is full; Run retries
		}
	}
	if err == nil {
		a.trees.Follow(a.store.Catalog(), a.store.Series)
		err = a.ownSpools()
	}
	if err == nil {
		err = a.openRemoteWrite()
	}
	if err == nil {
		err = a.openGraphite()
	}
	if err == nil {
		err = a.openPrometheus()
	}
	if err == nil {
		err = a.openWebConfig()
	}
	if err == nil {
		err = a.openOpenTSDB()
	}
	if err == nil {
		err = a.listen()
	}
	if err == nil {
		err = a.listenGRPC(a.prometheus.GRPC())
	}
	if err == nil {
		err = a.o.Sockets.Unused()
	}
	if err != nil {
		return nil, errors.Join(tables.WithAdvice(err), a.Close())
	}
	return a, nil
}

// ownSpools makes an embedded store the owner of the queues on the disk.
func (a *Adapter) ownSpools() error {
	engine, ok := a.engine.(*pebble.Engine)
	if !ok || a.o.Command {
		return nil
	}
	dirs, err := a.o.spoolDirs()
	if err != nil {
		return err
	}
	a.spoolOwner, err = tables.OwnSpools(engine, dirs, a.o.Logger)
	return err
}

// listen makes what answers requests, and binds the HTTP port.
func (a *Adapter) listen() error {
	first := &generation{o: a.Options(), prometheus: a.prometheus, graphite: a.graphite, opentsdb: a.opentsdb}
	if err := a.mount(first); err != nil {
		return err
	}
	a.live.Store(first)
	return a.listenHTTP(http.HandlerFunc(a.serveLive), http.HandlerFunc(a.serveWrites))
}

// Close releases what New opened, for an Adapter that never ran.
func (a *Adapter) Close() error {
	err := a.closePorts()
	if a.store != nil {
		err = errors.Join(err, a.store.Close(context.Background()), a.forward.close())
	}
	if a.opentsdb != nil {
		err = errors.Join(err, a.opentsdb.Close())
	}
	if a.graphite != nil {
		err = errors.Join(err, a.graphite.Close())
	}
	return errors.Join(err, a.engine.Close())
}

// Starting returns what the start waits for, "" when the adapter serves. HBase may be away for long,
// and is not waited for.
func (a *Adapter) Starting() string {
	if err := a.store.Replayed(); err != nil && a.o.Engine != tables.EngineHBase {
		return err.Error()
	}
	return ""
}

// StopTime returns how long Run may take when its context has ended: requests, and then the flush,
// have the grace.
func (a *Adapter) StopTime() time.Duration { return 2*a.o.ShutdownGrace + 30*time.Second }

// CarbonAddr returns the address of carbon's listener, empty without one.
func (a *Adapter) CarbonAddr() string { return a.graphite.CarbonAddr() }

// Run serves until ctx ends. Then it lets the requests under way finish, flushes the points in
// memory into the tables and closes the store. A flush that does not finish in time loses nothing:
// acknowledged points are in the log or in the tables, and the next start replays the log.
func (a *Adapter) Run(ctx context.Context) error {
	// The store outlives the listener: requests under way still need it.
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	defer stopStore()
	group, serveCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.store.Run(storeCtx) })
	group.Go(func() error { return a.memoryKeeper().Run(storeCtx) })
	group.Go(func() error { return a.trees.Run(storeCtx) })
	group.Go(func() error { return a.prometheus.Run(serveCtx) })
	if a.forward.manager != nil {
		group.Go(func() error { return a.forward.manager.Run(serveCtx) })
	}
	group.Go(func() error { return a.reloader.run(serveCtx) })
	if a.o.Engine == tables.EngineEmbedded {
		group.Go(func() error {
			a.backups.Watch(serveCtx, a.o.Backups())
			return nil
		})
	}
	a.logExposed(a.carbonAndOpenTSDB())
	group.Go(a.serve)
	group.Go(a.serveGRPC)
	graphiteDone, opentsdbDone := make(chan struct{}), make(chan struct{})
	group.Go(func() error {
		defer close(graphiteDone)
		return a.graphite.Run(serveCtx)
	})
	group.Go(func() error {
		defer close(opentsdbDone)
		return a.opentsdb.Run(serveCtx)
	})
	group.Go(func() error {
		defer stopStore()
		<-serveCtx.Done()
		defer func() { <-graphiteDone; <-opentsdbDone }()
		a.o.Logger.Info("shutting down", "grace", a.o.ShutdownGrace)
		graceCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.o.ShutdownGrace)
		defer cancel()
		return a.shutdown(graceCtx)
	})
	err := tables.WithAdvice(group.Wait())
	flushCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.o.ShutdownGrace)
	defer cancel()
	if closeErr := a.store.Close(flushCtx); closeErr != nil {
		a.o.Logger.Warn("some points in memory were not put into the table; the next start reads them from the log", "err", closeErr)
	}
	err = errors.Join(err, a.forward.close(), a.engine.Close())
	a.o.Logger.Info("stopped")
	return err
}

// memoryKeeper returns the keeper of the process' memory limits. The head may hold half as much
// again as --write.buffer.max-bytes, and the bodies of writes are held twice, as sent and decoded.
func (a *Adapter) memoryKeeper() *memory.Keeper {
	writes := a.o.HeadBytes/2*3 + 2*int64(a.o.Prometheus.Write.InFlightBytes)
	return memory.NewKeeper(a.budget, writes, a.running)
}
