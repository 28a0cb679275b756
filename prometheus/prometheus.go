// Package prometheus is the side of Prometheus' protocols: it wires remote write, remote read and
// the query API over one store and mounts them. It opens no port, and it knows nothing of the
// engine below the store.
package prometheus

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/hatracker"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/otlp"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
	"github.com/tsdbridge/tsdbridge/prometheus/push"
	promquery "github.com/tsdbridge/tsdbridge/prometheus/query"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/read"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/prometheus/write"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// APIPrefix is the path that the API is mounted under.
const APIPrefix = promquery.Prefix

// Options are the settings and the parts of Prometheus' protocols. DefaultOptions sets the
// settings; the parts must be given. New fills in the parts of Write, Read and Query.
type Options struct {
	Write  write.Options
	Read   read.Options
	Query  promquery.Options
	Rules  rules.Options
	OTLP   otlp.Options // the limits of requests are those of Write
	Series int          // --query.max-series: that one selector may find; 0: no limit
	// SelectorBytes is --query.selector-cache-max-bytes: the memory for series that selectors found, by
	// labels; 0: none are kept.
	SelectorBytes int64

	// RuleSet has the rules that Run evaluates; nil: there are none.
	RuleSet *rules.Set
	// Leases decide which process evaluates a group of rules; nil: no other process shares the store.
	Leases rules.Leases
	// Languages evaluate rules in other languages.
	Languages rules.Evaluators
	// ExternalURL is where users find this server. Alerts link to it.
	ExternalURL *url.URL
	// Ready returns nil when the store answers queries.
	Ready func(ctx context.Context) error

	Store Store
	// HistogramCodec is the id of the codec of OpenTSDB's histograms, which are shown as native histograms; nil: there
	// are none.
	HistogramCodec *byte
	Documents      Documents       // of the same store
	Steps          lookback.Steps  // of the same store; nil: no steps are known
	Paths          queryable.Paths // of the same store; nil: there are no trees
	Elections      hatracker.Book  // of the same store
	Catalog        Catalog         // of the same store
	Names          *translate.Translator
	Budget         *query.Budget   // of all queries
	Running        *query.Registry // of all queries
	Origins        *regexp.Regexp  // of scripts that may use the API
	Flags          map[string]string
	Config         string    // as YAML, without secrets
	Started        time.Time // when the process was
	// LastReload tells of the last load of the configuration; nil: there was none after the start.
	LastReload func() (success bool, last time.Time)
	Revision   string // of this program
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
	Now        func() time.Time
}

// Store is what the protocols need of store.Store. Remote write calls Appender, everything else
// reads.
type Store interface {
	storage.Appender
	storage.Querier
	queryable.Windows
	Plan(q storage.Query) ([]storage.Plan, error)
	Read(from, to int64) (*store.Reading, bool)
	promquery.Deleter
}

// Documents keeps the metadata of metrics.
type Documents interface {
	PutMetadata(ctx context.Context, metadata map[string]storage.Metadata) error
	Metadata(ctx context.Context) (map[string]storage.Metadata, error)
}

// Catalog counts the series, and knows when those of a metric change.
type Catalog interface {
	queryable.Catalog
	queryable.PathCatalog
	Cardinality(ctx context.Context, limit int) (storage.Cardinality, error)
}

// DefaultOptions returns the settings without any flag.
func DefaultOptions() Options {
	return Options{Write: write.DefaultOptions(), Read: read.DefaultOptions(), Query: promquery.DefaultOptions(), Rules: rules.DefaultOptions(), OTLP: otlp.DefaultOptions(), Series: 1_000_000, SelectorBytes: 128 << 20}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if err := o.Write.Validate(); err != nil {
		return err
	}
	if err := o.Read.Validate(); err != nil {
		return err
	}
	if err := o.Rules.Validate(); err != nil {
		return err
	}
	if err := o.OTLP.Validate(); err != nil {
		return err
	}
	if o.SelectorBytes < 0 {
		return errors.New("--query.selector-cache-max-bytes must not be below 0")
	}
	return o.Query.Validate()
}

// A Server serves Prometheus' protocols.
type Server struct {
	write *write.Handler
	pairs *hatracker.Tracker // nil: nothing is deduplicated
	read  *read.Handler
	query *promquery.API
	rules *rules.Service // shared by all generations
	otlp  *otlp.Handler  // shared by all generations
	push  *push.Handler  // shared by all generations
	set   *rules.Set
	// naming is how series of OTLP are named.
	naming config.OTLPConfig
	// languages evaluate rules in other languages than PromQL
	languages rules.Evaluators
	shown     *queryable.Store
	budget    *query.Budget
	origins   *regexp.Regexp
}

// New wires the protocols over the store.
func New(o Options) *Server {
	store := storage.Querier(o.Store)
	if o.HistogramCodec != nil {
		store = queryable.WithHistograms(store, *o.HistogramCodec)
	}
	shown := queryable.New(store, o.Names, queryable.Limits{Series: o.Series, Samples: int64(o.Query.Samples)})
	shown.UseWindows(o.Store)
	if o.Paths != nil {
		shown.UsePaths(o.Paths, o.Catalog)
	}
	if o.SelectorBytes > 0 {
		shown.Keep(o.Catalog, o.Budget, o.SelectorBytes)
	}
	tracker := o.tracker()
	s := &Server{
		write: write.New(o.writeOptions(tracker)), pairs: tracker, read: read.New(o.readOptions(shown)), rules: rules.New(o.ruleOptions(shown)),
		set: o.RuleSet, languages: o.Languages, shown: shown, budget: o.Budget, origins: o.Origins,
	}
	s.otlp, s.naming = otlp.New(o.otlpOptions(s.write)), o.OTLP.Config
	s.push = push.New(o.pushOptions(s.write))
	s.query = promquery.New(o.queryOptions(shown, s.rules))
	s.Use()
	return s
}

// With returns a Server with other limits of reads and other origins. Both share everything
// else, remote write with its limits too.
func (s *Server) With(o Options) *Server {
	shown := s.shown.With(queryable.Limits{Series: o.Series, Samples: int64(o.Query.Samples)})
	return &Server{
		write: s.write, pairs: s.pairs, read: s.read.With(o.readOptions(shown)), query: s.query.With(o.queryOptions(shown, s.rules)),
		rules: s.rules, otlp: s.otlp, push: s.push, naming: o.OTLP.Config, set: o.RuleSet, languages: o.Languages, shown: shown, budget: s.budget, origins: o.Origins,
	}
}

// tracker returns what elects the replicas of HA pairs; nil: nothing does.
func (o Options) tracker() *hatracker.Tracker {
	if !o.Write.Dedup.Enabled() {
		return nil
	}
	return hatracker.New(o.Write.Dedup, hatracker.Parts{Book: o.Elections, Logger: o.Logger, Registerer: o.Registerer, Now: o.Now})
}

func (o Options) writeOptions(tracker *hatracker.Tracker) write.Options {
	w := o.Write
	w.Pairs = tracker
	w.Appender, w.Metadata, w.Names = o.Store, o.Documents, o.Names
	w.Logger, w.Registerer, w.Now = o.Logger, o.Registerer, o.Now
	return w
}

func (o Options) otlpOptions(w *write.Handler) otlp.Options {
	p := o.OTLP
	p.BodyBytes, p.SeriesBytes, p.LabelBytes, p.SeriesCache = o.Write.BodyBytes, o.Write.SeriesBytes, o.Write.LabelBytes, o.Write.SeriesCache
	p.RequestPoints, p.RequestSamples = o.Write.RequestSeries, o.Write.RequestData
	p.Future, p.Lookback, p.Intake, p.Refused = o.Write.Future, o.Query.Lookback, w.Intake(), o.Write.Refused
	p.Appender, p.Reader, p.Metadata, p.Names = o.Store, o.Store, o.Documents, o.Names
	p.Logger, p.Registerer, p.Now = o.Logger, o.Registerer, o.Now
	return p
}

func (o Options) pushOptions(w *write.Handler) push.Options {
	return push.Options{Appendable: o.appendable(), Intake: w.Intake(), Refused: o.Write.Refused, Logger: o.Logger, Registerer: o.Registerer, Now: o.Now}
}

// appendable returns what takes samples in the terms of the module.
func (o Options) appendable() *appendable.Appendable {
	w := o.Write
	return appendable.New(appendable.Options{
		SeriesBytes: w.SeriesBytes, SeriesCache: w.SeriesCache, Future: w.Future,
		Appender: o.Store, Metadata: o.Documents, Names: o.Names, Now: o.Now,
	})
}

func (o Options) readOptions(shown *queryable.Store) read.Options {
	r := o.Read
	r.Queryable, r.Running, r.Logger, r.Registerer = shown, o.Running, o.Logger, o.Registerer
	return r
}

func (o Options) ruleOptions(shown *queryable.Store) rules.Options {
	r := o.Rules
	r.Appendable = o.appendable()
	r.Leases = o.Leases
	r.Queryable, r.Ready, r.Budget, r.ExternalURL, r.Logger, r.Registerer = shown, o.Ready, o.Budget, o.ExternalURL, o.Logger, o.Registerer
	return r
}

func (o Options) queryOptions(shown *queryable.Store, r *rules.Service) promquery.Options {
	q := o.Query
	q.Rules, q.Steps = r, o.Steps
	q.Planner, q.Catalog, q.Metadata, q.Names, q.Queryable, q.Running = o.Store, o.Catalog, o.Documents, o.Names, shown, o.Running
	q.Changes, q.Budget, q.Deleter = o.Store, o.Budget, o.Store
	q.Origins, q.Flags, q.Config, q.Started, q.Revision, q.LastReload = o.Origins, o.Flags, o.Config, o.Started, o.Revision, o.LastReload
	q.Logger, q.Registerer, q.Gatherer = o.Logger, o.Registerer, o.Gatherer
	return q
}

// Routes mounts the protocols under APIPrefix, and remote write and remote read also at the paths
// of Prometheus' old example adapter. Each request but a write has an account of the budget.
func (s *Server) Routes(r chi.Router) {
	queries := r.With(query.Accounts(s.budget))
	for _, prefix := range []string{APIPrefix, ""} {
		r.Handle(prefix+writePath, s.Write())
		queries.HandleFunc(prefix+readPath, s.serveRead)
	}
	r.Handle(APIPrefix+otlpPath, s.Write())
	for _, path := range push.Paths() {
		r.Handle(APIPrefix+path, s.Write())
	}
	r.Get(APIPrefix+pairsPath, s.servePairs)
	r.Get(APIPrefix+leasesPath, s.serveLeases)
	queries.Handle(promquery.NativePath, s.query.NativeExport())
	queries.Handle(APIPrefix+"/*", s.query)
	queries.Handle(promquery.FederatePath, s.query.Federation())
}

// Query returns the handler of the query API.
func (s *Server) Query() http.Handler { return s.query }

// Write returns the handler of all paths that ReadsBody tells of, for requests that need no router.
func (s *Server) Write() http.Handler {
	return httpapi.AllowOrigins(s.origins)(httpapi.RefuseForeign(s.origins)(http.HandlerFunc(s.serveWrite)))
}

// GRPC returns the handler of OTLP over gRPC, which needs a server of HTTP/2.
func (s *Server) GRPC() http.Handler {
	return httpapi.RefuseForeign(s.origins)(http.HandlerFunc(s.otlp.ServeGRPC))
}

func (s *Server) serveWrite(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == APIPrefix+otlpPath:
		s.otlp.ServeHTTP(w, r)
	case isPush(path):
		s.push.ServeHTTP(w, r)
	default:
		s.write.ServeHTTP(w, r)
	}
}

const (
	writePath = "/write"
	otlpPath  = "/otlp/v1/metrics"
	readPath  = "/read"
	pairsPath = "/status/ha"

	leasesPath = "/status/leases" // of groups of rules
)

// serveRead leaves what a browser asks before it sends (OPTIONS) to the API, which answers it for
// all its paths.
func (s *Server) serveRead(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		r.URL.Path = APIPrefix + readPath
		s.query.ServeHTTP(w, r)
		return
	}
	s.read.ServeHTTP(w, r)
}

// servePairs tells which replica of each HA pair is elected.
func (s *Server) servePairs(w http.ResponseWriter, _ *http.Request) {
	known := []hatracker.Pair{}
	if s.pairs != nil {
		known = s.pairs.Pairs()
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: known})
}

// serveLeases tells which groups of rules this process evaluates, where several share a store.
func (s *Server) serveLeases(w http.ResponseWriter, _ *http.Request) {
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: s.rules.Leases()})
}

// ReadsBody reports whether the handler of a path reads the body by itself, as it comes: what writes
// samples has limits of its own for bodies.
func ReadsBody(path string) bool {
	switch path {
	case APIPrefix + writePath, writePath, APIPrefix + otlpPath:
		return true
	}
	return isPush(path)
}

// isPush reports whether a path is one of push.
func isPush(path string) bool {
	below, ok := strings.CutPrefix(path, APIPrefix)
	return ok && slices.Contains(push.Paths(), below)
}

// Use has rules evaluated and series of OTLP named as this Server says, in the place of the one from
// before.
func (s *Server) Use() {
	all := maps.Clone(s.languages)
	if all == nil {
		all = rules.Evaluators{}
	}
	all[rules.PromQL] = ruleQueries{s.query}
	s.rules.Use(s.set, all)
	s.otlp.Use(s.naming)
}

// ruleQueries evaluates the PromQL of rules.
type ruleQueries struct{ api *promquery.API }

// Evaluate implements rules.Evaluator.
func (q ruleQueries) Evaluate(ctx context.Context, a rules.Question) (promql.Vector, error) {
	return q.api.Instant(ctx, a.Text, a.Client, a.At)
}

// Backfill fills recording rules for the past.
func (s *Server) Backfill(ctx context.Context, b rules.Backfill) error {
	return s.rules.Backfill(ctx, b)
}

// TestRules runs a unit test of rules over the store, which must be empty.
func (s *Server) TestRules(ctx context.Context, t rules.Test) []error {
	t.Module = s.query.Library()
	return s.rules.Test(ctx, t)
}

// SameRules reports whether two Servers have the same rule files with the same text.
func (s *Server) SameRules(other *Server) bool { return s.set.Equal(other.set) }

// Run evaluates rules until ctx ends. Requests do all other work of these protocols.
func (s *Server) Run(ctx context.Context) error { return s.rules.Run(ctx) }

// DropCaches forgets which series the label blocks of remote write, the attributes of OTLP and the selectors of queries name.
func (s *Server) DropCaches() {
	s.write.DropCaches()
	s.otlp.DropCaches()
	s.shown.DropCaches()
}
