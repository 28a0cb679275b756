// Package api is graphite-web's HTTP API (find, expand, index, render, tags, functions, events) over trees and
// a store. It answers as graphite-web 1.1.10 does: parameters, names, orders and numbers. Where graphite-web
// fails with a stack trace it answers 400 with the reason.
//
// It never knows HBase or a byte of the schema.
package api

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

// Options are the parts and limits of the API.
type Options struct {
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

// API is the handlers, and what they have in common. It is safe for concurrent use.
type API struct {
	o         Options
	evaluator *eval.Evaluator
	turns     *query.Turns
	metrics   *apiMetrics
	Sources   *source.Sources
	foreign   *http.CrossOriginProtection // knows requests of pages of other origins

	finder   *finder
	tags     *tagIndex
	remover  *remover
	events   *eventHandlers
	renderer *renderer
}

// New returns the API of a store.
func New(o Options) *API {
	o.setDefaults()
	a := &API{
		o: o, evaluator: eval.New(), turns: query.NewTurns(o.Limits.Concurrency), metrics: newAPIMetrics(o.Registerer), Sources: source.New(o.source()),
		foreign: http.NewCrossOriginProtection(),
	}
	a.divide(newSent())
	return a
}

func (o *Options) setDefaults() {
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
}

// divide makes the handlers of each part by the options.
func (a *API) divide(sent *sent) {
	o := &a.o
	a.tags = &tagIndex{store: o.Store, names: o.Names, registrar: o.Registrar, limits: o.Limits}
	a.finder = newFinder(o, a.tags, sent)
	a.remover = &remover{
		trees: o.Trees, catalog: o.Catalog, tags: a.tags, deleter: o.Deleter, allowDelete: o.AllowDelete, limits: o.Limits, foreign: a.foreign, logger: o.Logger,
	}
	a.events = &eventHandlers{events: o.Events, location: o.Location, now: o.Now, limits: o.Limits}
	a.renderer = &renderer{
		evaluator: a.evaluator, sources: a.Sources, events: o.Events, replies: singleflight.NewReplies(encodedOnce), metrics: a.metrics, running: o.Running,
		limits: o.Limits, utf8Metrics: o.UTF8Metrics, location: o.Location, templates: o.Templates, now: o.Now,
	}
}

// With returns an API with other rules and limits.
func (a *API) With(o Options) *API {
	o.setDefaults()
	other := *a
	other.o = o
	other.Sources = a.Sources.With(o.source())
	other.divide(a.finder.sent)
	return &other
}

// source returns the parts and limits of the targets' sources.
func (o Options) source() source.Options {
	return source.Options{
		Store: o.Store, Catalog: o.Catalog, Documents: o.Documents, Archives: o.Archives, Trees: o.Trees, Names: o.Names, Schemas: o.Schemas, Aggregation: o.Aggregation,
		Limits: source.Limits{Series: o.Limits.Series, Points: o.Limits.Points, Nodes: o.Limits.Nodes}, Logger: o.Logger, Now: o.Now,
	}
}

// Run keeps the steps of series that were inferred while requests were answered, until ctx ends.
// Without it they are inferred again after each restart.
func (a *API) Run(ctx context.Context) error { return a.Sources.Run(ctx) }
