// Package opentsdb speaks the protocols of OpenTSDB's own clients on one port, as a TSD 2.4 has them,
// with its statuses and its texts: telnet put and HTTP put, and with the rooms below it the HTTP
// API. It never knows how series or points are stored, and never translates a name: what a TSD would
// store is in the tables under the very same names. It refuses what a TSD would spoil silently (a
// letter above U+00FF becomes "?").
//
// Unlike a TSD it answers an HTTP put only when its points are durable, with or without the
// parameter sync, and keeps what telnet sends until it is durable.
package opentsdb

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/opentsdb/api"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Options are the settings and the parts of OpenTSDB's protocols. DefaultOptions sets the settings;
// the parts must be given.
type Options struct {
	// ListenAddress is --opentsdb.listen-address, of telnet and HTTP; empty: no port.
	ListenAddress string
	// MaxConnections is --opentsdb.max-connections: connections at once.
	MaxConnections int
	// IdleTimeout is --opentsdb.idle-timeout: a silent connection is closed after it; 0: never.
	IdleTimeout time.Duration
	// MaxTags is --opentsdb.max-tags: tags of a series; OpenTSDB's tsd.storage.max_tags.
	MaxTags int
	// MaxFuture is --opentsdb.max-future: how far ahead of the clock a point may be; 0: no limit.
	MaxFuture time.Duration
	// SeriesCache is --storage.series-cache: how many series are found by their bytes.
	SeriesCache int

	// AllowEdits is --opentsdb.allow-edits: clients may change names, metadata and trees.
	AllowEdits bool
	// MaxSeries and MaxSamples bound what one query reads; Timeout is how long it may take, and
	// Concurrency how many compute at once.
	MaxSeries, MaxSamples int
	Timeout               time.Duration
	Concurrency           int

	// Points takes points and new series.
	Points storage.Appender
	// Store, Catalog and Names answer queries. Layout is that of the tables.
	Store   storage.Querier
	Catalog query.Catalog
	Names   Names
	Layout  schema.Layout
	// Budget bounds the memory of queries, Running lists them.
	Budget  *budget.Budget
	Running *running.Registry
	// Protect, if set, has a handler ask for passwords. Puts need none, as with a TSD.
	Protect func(http.Handler) (http.Handler, error)
	// ShutdownGrace is how long requests and the store may take when the process is told to stop.
	ShutdownGrace time.Duration
	// Version is the answer to the command version.
	Version    string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// DefaultOptions returns the settings without any flag.
func DefaultOptions() Options {
	l, p := defaultListenerOptions(), defaultPutOptions()
	return Options{MaxConnections: l.MaxConnections, MaxTags: p.MaxTags, SeriesCache: p.CacheEntries}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if o.ListenAddress == "" {
		return nil
	}
	if err := o.listener().Validate(); err != nil {
		return err
	}
	return o.puts().Validate()
}

func (o Options) listener() listenerOptions {
	l := defaultListenerOptions()
	l.Address, l.MaxConnections, l.IdleTimeout = o.ListenAddress, o.MaxConnections, o.IdleTimeout
	l.ShutdownGrace, l.Version, l.Logger, l.Registerer, l.Now = o.ShutdownGrace, o.Version, o.Logger, o.Registerer, o.Now
	return l
}

// Names looks names of tsdb-uid up, by themselves and by their beginning.
type Names interface {
	api.Names
}

// queries returns the API but for puts.
func (o Options) queries() http.Handler {
	engine := query.NewEngine(query.Options{
		Store: o.Store, Catalog: o.Catalog, Names: o.Names, Layout: o.Layout, MaxSeries: o.MaxSeries, MaxPoints: o.MaxSamples, Now: o.Now,
	})
	a := api.New(api.Options{
		Engine: engine, Names: o.Names, Version: o.Version, Settings: o.settings(), Concurrency: o.Concurrency, Timeout: o.Timeout, AllowEdits: o.AllowEdits, Running: o.Running,
		Logger: o.Logger, Now: o.Now,
	})
	return budget.Accounts(o.Budget)(a)
}

// settings are what a client may want to know of the configuration, by a TSD's names.
func (o Options) settings() map[string]string {
	l := o.Layout
	return map[string]string{
		"tsd.mode": "rw", "tsd.http.query.allow_delete": "false", "tsd.network.port": o.ListenAddress,
		"tsd.core.auto_create_metrics": "true", "tsd.core.auto_create_tagks": "true", "tsd.core.auto_create_tagvs": "true",
		"tsd.storage.max_tags":         strconv.Itoa(o.MaxTags),
		"tsd.storage.uid.width.metric": strconv.Itoa(l.MetricWidth), "tsd.storage.uid.width.tagk": strconv.Itoa(l.TagkWidth), "tsd.storage.uid.width.tagv": strconv.Itoa(l.TagvWidth),
		"tsd.storage.salt.width": strconv.Itoa(l.SaltWidth), "tsd.storage.salt.buckets": strconv.Itoa(l.SaltBuckets),
		"tsd.query.timeout": strconv.FormatInt(o.Timeout.Milliseconds(), 10),
	}
}

func (o Options) puts() putOptions {
	p := defaultPutOptions()
	p.MaxTags, p.MaxFuture, p.CacheEntries = o.MaxTags, o.MaxFuture, o.SeriesCache
	p.Appender, p.Registerer, p.Now = o.Points, o.Registerer, o.Now
	return p
}

// A Server serves OpenTSDB's protocols.
type Server struct {
	queries  http.Handler
	listener *listener // nil without an address, as are the following
	puts     *putStore
	api      *httpAPI
}

// New binds the port. Run serves it; without Run, call Close.
func New(o Options) (*Server, error) {
	queries := o.queries()
	if o.ListenAddress == "" {
		return &Server{queries: queries}, nil
	}
	protected, err := o.protected(queries)
	if err != nil {
		return nil, err
	}
	l, err := newListener(o.listener())
	if err != nil {
		return nil, err // it names the flag
	}
	puts := newPutStore(o.puts())
	return &Server{queries: queries, listener: l, puts: puts, api: newAPI(defaultAPIOptions(), puts, protected)}, nil
}

// protected has a handler of the port ask for passwords.
func (o Options) protected(h http.Handler) (http.Handler, error) {
	if o.Protect == nil {
		return h, nil
	}
	return o.Protect(h)
}

// WebRoutes mounts the API but for puts on a router of the web port, whose paths under /api/v1 are
// Prometheus'.
func (s *Server) WebRoutes(r chi.Router) {
	for _, endpoint := range api.Endpoints() {
		r.Handle("/api/"+endpoint, s.queries)
		r.Handle("/api/"+endpoint+"/*", s.queries)
	}
}

// Routes mounts the HTTP API of the port. It answers every path.
func (s *Server) Routes(r chi.Router) {
	if s.api == nil {
		return
	}
	r.Handle("/*", s.api)
	r.NotFound(s.api.ServeHTTP)
	r.MethodNotAllowed(s.api.ServeHTTP)
}

// Run serves the port until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	if s.listener == nil {
		return nil
	}
	return s.listener.Run(ctx, s.puts, s.api) // it answers every path
}

// DropCaches forgets which series there are: all are resolved again when they are met.
func (s *Server) DropCaches() {
	if s.puts != nil {
		s.puts.DropCaches()
	}
}

// Addr returns the address that the port is bound to, empty without one.
func (s *Server) Addr() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Close unbinds the port of a Server that never ran.
func (s *Server) Close() error {
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}
