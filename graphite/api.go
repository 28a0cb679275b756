package graphite

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/draw"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// Registrar makes series known that have no points yet, as /tags/tagSeries does. A storage.Appender
// is one.
type Registrar interface {
	Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error)
}

// apiOptions are the parts and limits of the API.
type apiOptions struct {
	Store       storage.Querier
	Catalog     source.Catalog    // of the same store
	Documents   source.SeriesMeta // of the same store
	Archives    source.Archives   // of the same store; nil: it has none
	Trees       source.Trees
	Names       *translate.Translator
	Events      *events.Events
	Registrar   Registrar // nil: tagSeries and tagMultiSeries only return the canonical names
	Deleter     Deleter   // nil: nothing is deleted
	AllowDelete bool      // points may be deleted
	Schemas     *conf.Schemas
	Aggregation *conf.Aggregations
	Limits      Limits
	HideAfter   time.Duration   // the age of the newest point from which find hides a series; 0: none
	UTF8Metrics bool            // take letters beyond ASCII in unquoted targets
	Location    *time.Location  // of times in requests without tz; nil: UTC
	Templates   draw.Templates  // of pictures; nil: those that come with graphite-web
	Running     *query.Registry // nil: none
	Logger      *slog.Logger
	Registerer  prometheus.Registerer // nil: no metrics
	Now         func() time.Time
}

// Limits bound what a request may cost. Those of Series, Points, Nodes and Targets mean none at 0.
type Limits struct {
	// Series is how many series a request may read, and how many a list may be made of.
	Series int
	// Points is how many points a request may read or make.
	Points int
	// Nodes is how many nodes of trees a pattern may match.
	Nodes int
	// Targets is how many targets a request may have.
	Targets int
	// Timeout is how long a request may take, including its wait for a turn; 0: no limit. EditTimeout
	// is that of requests that may change something: at least what the store may take.
	Timeout, EditTimeout time.Duration
	// Concurrency is how many requests are computed at once, at least 1. The others wait, and
	// requests that compute for long let others go first.
	Concurrency int
}

// DefaultLimits are generous to dashboards and keep a mistake from taking the process down.
func DefaultLimits() Limits {
	return Limits{Series: 1_000_000, Points: 50_000_000, Nodes: 1_000_000, Targets: 1000, Timeout: 2 * time.Minute, EditTimeout: 2 * time.Minute, Concurrency: 20}
}

// api is the handlers. It is safe for concurrent use.
type api struct {
	o         apiOptions
	evaluator *eval.Evaluator
	turns     *query.Turns
	replies   *singleflight.Replies[*reply]
	metrics   *apiMetrics
	sources   *source.Sources
	lately    *cache.LRU[string, int64] // by TSUID: a time of a point, in epoch milliseconds
	branches  *cache.LRU[string, lateBranch]
	foreign   *http.CrossOriginProtection // knows requests of pages of other origins
}

// newAPI returns the API of a store.
func newAPI(o apiOptions) *api {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Templates == nil {
		o.Templates = draw.DefaultTemplates()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &api{
		o: o, evaluator: eval.New(), turns: query.NewTurns(o.Limits.Concurrency), replies: singleflight.NewReplies(encodedOnce), metrics: newAPIMetrics(o.Registerer), sources: source.New(o.source()), lately: cache.NewLRU[string, int64](latelyKept),
		branches: cache.NewWeightedLRU[string, lateBranch](branchesKept, func(path string, _ lateBranch) int { return len(path) + branchBytes }),
		foreign:  http.NewCrossOriginProtection(),
	}
}

// with returns an API with other rules and limits.
func (a *api) with(o apiOptions) *api {
	other := *a
	other.o = o
	other.sources = a.sources.With(o.source())
	other.replies = singleflight.NewReplies(encodedOnce) // by these rules and limits
	return &other
}

// source returns the parts and limits of the targets' sources.
func (o apiOptions) source() source.Options {
	return source.Options{
		Store: o.Store, Catalog: o.Catalog, Documents: o.Documents, Archives: o.Archives, Trees: o.Trees, Names: o.Names, Schemas: o.Schemas, Aggregation: o.Aggregation,
		Limits: source.Limits{Series: o.Limits.Series, Points: o.Limits.Points, Nodes: o.Limits.Nodes}, Logger: o.Logger, Now: o.Now,
	}
}

// run keeps the steps of series that were inferred while requests were answered, until ctx ends.
// Without it they are inferred again after each restart.
func (a *api) run(ctx context.Context) error { return a.sources.Run(ctx) }
