// Package opentsdb speaks the protocols of OpenTSDB's own clients on one port, as a TSD 2.4 has them,
// with its statuses and its texts: telnet put and HTTP put, and with the packages below it the HTTP
// API. It never knows how series or points are stored, and never translates a name: what a TSD would
// store is in the tables under the very same names. It refuses what a TSD would spoil silently (a
// letter above U+00FF becomes "?").
//
// Unlike a TSD it answers an HTTP put only when its points are durable, with or without the
// parameter sync, and keeps what telnet sends until it is durable.
package opentsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/opentsdb/api"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/annotations"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/queries"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/trees"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/uids"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A Catalog knows series and their UIDs; that of a store is one.
type Catalog interface {
	tsdquery.Catalog
	trees.Series
}

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
	// SpecialChars is --opentsdb.allow-special-chars: characters that names may have in addition to a TSD's;
	// OpenTSDB's tsd.core.tag.allow_specialchars.
	SpecialChars string
	// MaxFuture is --opentsdb.max-future: how far ahead of the clock a point may be; 0: no limit.
	MaxFuture time.Duration
	// HistogramCodecs is --opentsdb.histogram-codecs: a TSD's tsd.core.histograms.config; empty: no
	// histograms are taken.
	HistogramCodecs string
	// SeriesCache is --storage.series-cache: how many series are found by their bytes.
	SeriesCache int

	// AllowEdits is --opentsdb.allow-edits: clients may change names, metadata and trees.
	AllowEdits bool
	// Mode is --opentsdb.mode: rw, ro or wo, a TSD's tsd.mode.
	Mode string
	// AutoCreate says which new names of puts get UIDs: --opentsdb.auto-create-metrics, and so on.
	AutoCreate put.AutoCreate
	// TimeZone is --opentsdb.time-zone: that of dates in queries which name none.
	TimeZone string
	// MaxPoints is --opentsdb.max-points: what a sub query may read, 0: MaxSamples. LimitsFile is
	// --opentsdb.limits: limits of metrics.
	MaxPoints  int
	LimitsFile string
	// AllowDelete is --opentsdb.allow-delete: queries may delete what they ask for.
	AllowDelete bool
	// CORSDomains is --opentsdb.cors-domains: the origins of pages that may use the API; CORSHeaders is
	// --opentsdb.cors-headers: what they may send.
	CORSDomains []string
	CORSHeaders string
	// MaxSeries and MaxSamples bound what one query reads; Timeout is how long it may take, and
	// Concurrency how many compute at once.
	MaxSeries, MaxSamples int
	Timeout               time.Duration
	Concurrency           int

	// Points takes points and new series.
	Points storage.Appender
	// Histograms takes OpenTSDB's histograms.
	Histograms put.HistogramStore
	// Store, Catalog and Names answer queries, Deleter deletes. Layout is that of the tables.
	Store   storage.Querier
	Deleter tsdquery.Deleter
	Catalog Catalog
	// StoreTimeout is how long one operation of the store may take: neither a put nor an edit ends
	// before it.
	StoreTimeout time.Duration
	Names        Names
	Layout       schema.Layout
	// Renamer renames UIDs of Store.
	Renamer uids.Renamer
	// Annotations are those of Store.
	Annotations annotations.Notes
	// Rollups keep rolled up values; nil: none are configured. Rollup is how they are taken.
	Rollups interface {
		put.Rollups
		tsdquery.Rollups
	}
	Rollup put.RollupConfig
	// Trees are those of the process; Documents describe series.
	Trees *forest.Service
	// Metadata are the documents that clients edit.
	Metadata  uids.Metadata
	Documents trees.Documents
	// Budget bounds the memory of queries, Running lists them.
	Budget  *query.Budget
	Running *query.Registry
	// Refused keeps samples of what is refused; nil: nothing is kept.
	Refused *rejections.Log
	// Protect, if set, has a handler ask for passwords. OpenPuts is --opentsdb.open-puts: HTTP puts need
	// none, as those of telnet.
	Protect  func(http.Handler) http.Handler
	OpenPuts bool
	// Hosts are the names by which browsers may reach the port.
	Hosts *netserver.Hosts
	// TLS is how the port's connections are encrypted; nil: they are not.
	TLS *tls.Config
	// Sockets are bound already, and taken for the addresses that they have; nil: none.
	Sockets *netserver.Sockets
	// ShutdownGrace is how long requests and the store may take when the process is told to stop.
	ShutdownGrace time.Duration
	// Version is the answer to the command version.
	Version    string
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// The values of Options.Mode.
const (
	ModeReadWrite = "rw"
	ModeReadOnly  = "ro"
	ModeWriteOnly = "wo"
)

// corsHeaders is what a TSD lets pages send.
const corsHeaders = "Authorization, Content-Type, Accept, Origin, User-Agent, DNT, Cache-Control, X-Mx-ReqToken, Keep-Alive, X-Requested-With, If-Modified-Since"

// DefaultOptions returns the settings without any flag.
func DefaultOptions() Options {
	l, p := defaultListenerOptions(), put.DefaultOptions()
	return Options{MaxConnections: l.MaxConnections, MaxTags: p.MaxTags, SeriesCache: p.CacheEntries, CORSHeaders: corsHeaders, Mode: ModeReadWrite, AutoCreate: put.AutoCreate{Metrics: true, TagKeys: true, TagValues: true}, TimeZone: "UTC", Rollup: put.RollupConfig{TagKey: "_aggregate"}}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if !slices.Contains([]string{ModeReadWrite, ModeReadOnly, ModeWriteOnly}, o.Mode) {
		return fmt.Errorf("--opentsdb.mode=%s: want rw, ro or wo", o.Mode)
	}
	if o.Rollup.TagKey == "" {
		return errors.New("--opentsdb.rollup-tag must not be empty")
	}
	if o.MaxPoints < 0 {
		return fmt.Errorf("--opentsdb.max-points=%d: must not be negative", o.MaxPoints)
	}
	if _, err := put.ParseCodecs(o.HistogramCodecs); err != nil {
		return err
	}
	if err := putline.CheckSpecialChars(o.SpecialChars); err != nil {
		return err
	}
	if o.ListenAddress == "" {
		return nil
	}
	if _, err := tsdquery.ParseZone(o.TimeZone); err != nil {
		return fmt.Errorf("--opentsdb.time-zone=%s: %w", o.TimeZone, err)
	}
	if err := o.listener().Validate(); err != nil {
		return err
	}
	return o.puts().Validate()
}

func (o Options) listener() listenerOptions {
	l := defaultListenerOptions()
	l.Address, l.MaxConnections, l.IdleTimeout = o.ListenAddress, o.MaxConnections, o.IdleTimeout
	l.TLS, l.Sockets, l.Hosts = o.TLS, o.Sockets, o.Hosts
	l.ShutdownGrace, l.Version, l.Logger, l.Registerer, l.Now = o.ShutdownGrace, o.Version, o.Logger, o.Registerer, o.Now
	return l
}

// Names looks names of tsdb-uid up, by themselves and by their beginning.
type Names interface {
	uids.Names
	api.Names
}

// queries returns the API but for puts, whose statistics and caches are the server's.
func (o Options) queries(s *Server, l *limits) api.Options {
	q := tsdquery.Options{Store: o.Store, Catalog: o.Catalog, Names: o.Names, Notes: o.Annotations, Layout: o.Layout, MaxSeries: o.MaxSeries, MaxPoints: o.MaxSamples, Now: o.Now}
	q.PointsOf = l.of
	if id, ok := o.codecs().ID(); ok {
		q.HistogramCodec = &id
	}
	if o.Rollups != nil {
		q.Rollups, q.SplitRollups = o.Rollups, o.Rollup.Split
	}
	if o.AllowDelete {
		q.Deleter = o.Deleter
	}
	engine := tsdquery.NewEngine(q)
	return api.Options{
		Queries:     queries.Options{Engine: engine, TimeZone: o.location(), Timeout: o.Timeout, Now: o.Now},
		UIDs:        uids.Options{Names: o.Names, Renamer: o.Renamer, Metadata: o.Metadata, Points: engine, Layout: o.Layout, MaxSeries: o.MaxSeries, SpecialChars: o.SpecialChars},
		Trees:       trees.Options{Trees: o.trees(), Series: o.Catalog, Documents: o.Documents, Logger: o.Logger, Now: o.Now},
		Annotations: annotations.Options{Notes: o.Annotations, Globals: engine, TimeZone: o.location(), Now: o.Now},
		Names:       o.Names, Version: o.Version, Settings: o.settings(), Concurrency: o.Concurrency, Timeout: o.Timeout, EditTimeout: o.editTimeout(),
		Edits: httpapi.Edits{Allowed: o.AllowEdits, Origins: o.origins()}, Mode: o.Mode,
		DropCaches: s.dropAsked, Statistics: s.statistics, Host: hostname(), Running: o.Running, Logger: o.Logger, Now: o.Now,
	}
}

// location is the time zone of dates; it was validated.
func (o Options) location() *time.Location {
	zone, err := tsdquery.ParseZone(o.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (o Options) trees() *forest.Editor {
	if o.Trees == nil {
		return nil
	}
	return o.Trees.Editor()
}

// editTimeout is the limit of requests that may change something; 0: they have none.
func (o Options) editTimeout() time.Duration {
	if o.Timeout == 0 {
		return 0
	}
	return put.Outlasting(o.Timeout, o.StoreTimeout)
}

func (o Options) origins() *httpapi.Origins { return httpapi.NewOrigins(o.CORSDomains, o.CORSHeaders) }

// compressed compresses long answers for clients that take gzip.
func compressed(h http.Handler) http.Handler { return gzhttp.GzipHandler(h) }

// settings are what a client may want to know of the configuration, by a TSD's names.
func (o Options) settings() map[string]string {
	l := o.Layout
	return map[string]string{
		"tsd.mode": o.Mode, "tsd.http.query.allow_delete": strconv.FormatBool(o.AllowDelete), "tsd.network.port": o.ListenAddress,
		"tsd.core.auto_create_metrics": strconv.FormatBool(o.AutoCreate.Metrics), "tsd.core.auto_create_tagks": strconv.FormatBool(o.AutoCreate.TagKeys),
		"tsd.core.auto_create_tagvs": strconv.FormatBool(o.AutoCreate.TagValues), "tsd.core.timezone": o.TimeZone,
		"tsd.core.histograms.config": o.codecs().Text(),
		"tsd.storage.max_tags":       strconv.Itoa(o.MaxTags), "tsd.core.tag.allow_specialchars": o.SpecialChars,
		"tsd.storage.uid.width.metric": strconv.Itoa(l.MetricWidth), "tsd.storage.uid.width.tagk": strconv.Itoa(l.TagkWidth), "tsd.storage.uid.width.tagv": strconv.Itoa(l.TagvWidth),
		"tsd.storage.salt.width": strconv.Itoa(l.SaltWidth), "tsd.storage.salt.buckets": strconv.Itoa(l.SaltBuckets),
		"tsd.query.timeout": strconv.FormatInt(o.Timeout.Milliseconds(), 10),
	}
}

// codecs are those of the flag, which was validated.
func (o Options) codecs() put.Codecs {
	c, err := put.ParseCodecs(o.HistogramCodecs)
	if err != nil {
		return put.Codecs{}
	}
	return c
}

func (o Options) puts() put.Options {
	p := put.DefaultOptions()
	p.MaxTags, p.MaxFuture, p.CacheEntries = o.MaxTags, o.MaxFuture, o.SeriesCache
	p.Appender, p.Registerer, p.Now, p.ReadOnly = o.AutoCreate.Limit(o.Points, o.Names), o.Registerer, o.Now, o.Mode == ModeReadOnly
	p.Codecs, p.SpecialChars = o.codecs(), o.SpecialChars
	p.Histograms, p.Refused = o.Histograms, o.Refused
	if o.Rollups != nil {
		p.Rollups, p.Rollup = o.Rollups, o.Rollup
	}
	return p
}

// A Server serves OpenTSDB's protocols.
type Server struct {
	o        Options
	queries  *api.API     // of the web port
	web      http.Handler // of queries
	others   *portQueries // what the port answers in addition to puts
	listener *listener    // nil without an address, as are the following
	puts     *put.Store
	api      *put.Handler
}

// New binds the port. Run serves it; without Run, call Close.
func New(o Options) (*Server, error) {
	s := &Server{o: o, others: &portQueries{}}
	limits, err := newLimits(&o)
	if err != nil {
		return nil, err
	}
	s.queries = api.New(o.queries(s, limits))
	s.web = s.served(o)
	s.Use(s)
	if o.ListenAddress == "" {
		return s, nil
	}
	if s.listener, err = newListener(o.listener(), s.queries.Statistics); err != nil {
		return nil, err // it names the flag
	}
	s.puts = put.New(o.puts())
	s.api = put.NewHandler(put.DefaultHandlerOptions().Waiting(o.StoreTimeout), s.puts, s.others, o.origins())
	if o.Protect != nil {
		s.api.Protect(o.Protect, o.OpenPuts)
	}
	return s, nil
}

// With reads the file of limits again, and returns a Server that answers queries by other settings. Both
// share the port, which goes on with the settings that it has until Use. Origins stay.
func (s *Server) With(o Options) (*Server, error) {
	limits, err := newLimits(&o)
	if err != nil {
		return nil, err
	}
	other := *s
	other.queries = s.queries.With(o.queries(&other, limits))
	other.web = other.served(o)
	return &other, nil
}

// served returns the handler of queries.
func (s *Server) served(o Options) http.Handler {
	return o.origins().Handler(compressed(query.Accounts(o.Budget)(s.queries)))
}

// Use has the port answer queries as other does, from the next request on.
func (s *Server) Use(other *Server) {
	handler := compressed(query.Accounts(s.o.Budget)(other.queries))
	s.others.Store(&handler)
}

// portQueries is the handler of the port's queries as it is now.
type portQueries struct{ atomic.Pointer[http.Handler] }

// ServeHTTP implements http.Handler.
func (p *portQueries) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*p.Load()).ServeHTTP(w, r) }

// WebRoutes mounts the API but for puts on a router of the web port, whose paths under /api/v1 are
// Prometheus'.
func (s *Server) WebRoutes(r chi.Router) {
	for _, endpoint := range api.Endpoints() {
		r.Handle("/api/"+endpoint, s.web)
		r.Handle("/api/"+endpoint+"/*", s.web)
	}
}

// Explain computes the answer to a request with the parameters of GET /api/query, whose context has an account of the
// budget, and returns how that was done. After an error it returns the status of an answer and a text.
func (s *Server) Explain(w http.ResponseWriter, r *http.Request) (x *query.Explanation, status int, text string) {
	return s.queries.Explain(w, r)
}

// A LatestQuery asks for the last points of a query.
type LatestQuery = queries.LatestQuery

// A LatestPoint is the last point of a group of a query.
type LatestPoint = queries.LatestPoint

// CheckM reports what is wrong with a parameter m=.
func CheckM(text string) error { return queries.CheckM(text) }

// Latest computes a query within the limits of /api/query and returns the last point of each group. The
// context has an account of the budget.
func (s *Server) Latest(ctx context.Context, q LatestQuery) ([]LatestPoint, error) {
	return s.queries.Latest(ctx, q)
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

// dropAsked drops the caches because a client asks for it.
func (s *Server) dropAsked() {
	if s.puts != nil {
		s.puts.DropAsked()
	}
}

// statistics are those of the port, by the names of a TSD.
func (s *Server) statistics() []httpapi.Statistic {
	if s.listener == nil {
		return nil
	}
	return append(s.listener.statistics(), s.puts.Statistics()...)
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
