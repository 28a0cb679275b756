// Package graphite serves Graphite's protocols: it reads carbon's configuration, mounts the HTTP API
// (graphite/api) and listens on carbon's ports.
package graphite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/graphite/api"
	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/draw"
	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/pipeline"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// Options are the settings and the parts of Graphite's protocols. Fields with a flag have defaults;
// the parts must be given.
type Options struct {
	// Schemas is --graphite.storage-schemas: a storage-schemas.conf of carbon; empty: none.
	Schemas string
	// Aggregation is --graphite.storage-aggregation: a storage-aggregation.conf of carbon; empty:
	// none.
	Aggregation string
	// GraphTemplates is --graphite.graph-templates: a graphTemplates.conf of graphite-web; empty: the
	// one that comes with it.
	GraphTemplates string
	// TimeZone is --graphite.time-zone: of times in requests without tz.
	TimeZone string
	// UTF8Metrics is --graphite.utf8-metrics: letters beyond ASCII are accepted in unquoted
	// targets.
	UTF8Metrics bool
	// HideAfter is --graphite.hide-after: find leaves out series whose newest point is older; 0: none.
	HideAfter time.Duration
	Limits    api.Limits
	Carbon    pipeline.Options

	Store storage.Querier
	// Catalog and Documents are of the same store.
	Catalog   Catalog
	Documents source.SeriesMeta
	// Archives keep the coarse archives of its series; nil: there is no table for them.
	Archives source.Archives
	Trees    source.Trees
	Names    *translate.Translator
	// Annotations are of the same store. Events are among them.
	Annotations events.Notes
	// Deleter is of the same store; AllowDelete lets it delete points.
	Deleter     api.Deleter
	AllowDelete bool
	// Appender takes new series of /tags/tagSeries.
	Appender storage.Appender
	// Points takes carbon's points and new series.
	Points storage.Appender
	// Running holds the queries of all languages that are being answered. It may be nil.
	Running *query.Registry
	// Refused keeps samples of what carbon's ports refuse; nil: nothing is kept.
	Refused *rejections.Log
	// Inverter is of Trees.
	Inverter pipeline.Inverter
	// Prepared is closed when Trees are known. Carbon's points wait for it: what a name means
	// depends on the trees.
	Prepared <-chan struct{}

	// Sockets are bound already, and taken for the addresses that they have; nil: none.
	Sockets *netserver.Sockets
	// ShutdownGrace is how long the store may take for carbon's points when the process is told to
	// stop.
	ShutdownGrace time.Duration
	Logger        *slog.Logger
	Registerer    prometheus.Registerer
	Now           func() time.Time
}

// Catalog knows the series of a store. catalog.Catalog is one.
type Catalog interface {
	source.Catalog
	pipeline.Catalog
}

// DefaultOptions returns the settings without any flag.
func DefaultOptions() Options {
	return Options{TimeZone: "UTC", Limits: api.DefaultLimits(), Carbon: pipeline.DefaultOptions()}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	_, zone := time.LoadLocation(o.TimeZone)
	if zone != nil {
		zone = fmt.Errorf("--graphite.time-zone=%s: %w", o.TimeZone, zone)
	}
	_, schemas := o.schemas()
	_, templates := o.templates()
	_, aggregations := o.aggregations()
	return errors.Join(zone, schemas, templates, aggregations)
}

// CheckFiles reads carbon's files that Validate does not, and logs what is passed over in all of them.
func (o Options) CheckFiles() error {
	schemas, err := o.schemas()
	if err != nil {
		return nil // Validate reports it
	}
	aggregations, err := o.aggregations()
	if err != nil {
		return nil
	}
	o.warnSkipped(schemas, aggregations)
	_, err = pipeline.NewRules(o.Carbon, o.Logger)
	return err // it names the flag
}

// warnSkipped logs the sections that carbon passes over, too.
func (o Options) warnSkipped(schemas *conf.Schemas, aggregations *conf.Aggregations) {
	for _, skipped := range append(schemas.Skipped(), aggregations.Skipped()...) {
		o.Logger.Warn("a section of carbon's configuration is not a rule, as in carbon; correct or remove it", "err", skipped)
	}
}

// templates reads the looks of pictures.
func (o Options) templates() (draw.Templates, error) {
	templates, err := readRules("--graphite.graph-templates", o.GraphTemplates, parseTemplates)
	if err != nil {
		return nil, err
	}
	if templates == nil {
		return draw.DefaultTemplates(), nil
	}
	return *templates, nil
}

func parseTemplates(file, text string) (*draw.Templates, error) {
	sections, err := conf.ParseGraphTemplates(file, text)
	if err != nil {
		return nil, err
	}
	templates, err := draw.NewTemplates(sections)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &templates, nil
}

// schemas reads the rules of the file, nil without one.
func (o Options) schemas() (*conf.Schemas, error) {
	return readRules("--graphite.storage-schemas", o.Schemas, conf.ParseSchemas)
}

// aggregations reads the rules of the file, nil without one.
func (o Options) aggregations() (*conf.Aggregations, error) {
	return readRules("--graphite.storage-aggregation", o.Aggregation, conf.ParseAggregations)
}

func readRules[R any](flag, file string, parse func(file, text string) (*R, error)) (*R, error) {
	if file == "" {
		return nil, nil
	}
	text, err := fsutil.ReadRegular(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	rules, err := parse(file, string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return rules, nil
}

// A Server serves Graphite's protocols.
type Server struct {
	*api.API

	o      Options
	names  *pipeline.Rules // nil: carbon's files have no rules of names
	carbon *pipeline.Port  // nil without an address
}

// New reads carbon's configuration and binds carbon's port. Run serves it; without Run, call Close.
func New(o Options) (*Server, error) {
	of, err := o.api()
	if err != nil {
		return nil, err
	}
	names, err := pipeline.NewRules(o.Carbon, o.Logger)
	if err != nil {
		return nil, err // it names the flag
	}
	s := &Server{o: o, names: names, API: api.New(of)}
	if o.Carbon.Listens() {
		s.carbon, err = pipeline.NewPort(o.Carbon, pipeline.Parts{
			Store: o.carbonStore(o.Points), Refused: o.Refused, Prepared: o.Prepared, Sockets: o.Sockets, ShutdownGrace: o.ShutdownGrace,
			Logger: o.Logger, Registerer: o.Registerer, Now: o.Now,
		}, names)
	}
	return s, err
}

// carbonStore returns the store as carbon's names reach it by an appender.
func (o Options) carbonStore(appender storage.Appender) pipeline.Store {
	return pipeline.Store{Appender: appender, Catalog: o.Catalog, Trees: o.Inverter, Names: o.Names}
}

// With reads carbon's configuration again, and returns a Server whose HTTP API has it and other limits.
// Both share everything else: carbon's port, turns, metrics, and what is known of series.
func (s *Server) With(o Options) (*Server, error) {
	of, err := o.api()
	if err != nil {
		return nil, err
	}
	return &Server{o: o, names: s.names, carbon: s.carbon, API: s.API.With(of)}, nil
}

// api returns the options of the HTTP API, with the rules of the files.
func (o Options) api() (api.Options, error) {
	schemas, err := o.schemas()
	if err != nil {
		return api.Options{}, err
	}
	aggregations, err := o.aggregations()
	if err != nil {
		return api.Options{}, err
	}
	o.warnSkipped(schemas, aggregations)
	templates, err := o.templates()
	if err != nil {
		return api.Options{}, err
	}
	zone, err := time.LoadLocation(o.TimeZone)
	if err != nil {
		return api.Options{}, errors.Join(errors.New("--graphite.time-zone"), err)
	}
	return api.Options{
		Store: o.Store, Catalog: o.Catalog, Documents: o.Documents, Archives: o.Archives, Trees: o.Trees, Names: o.Names, Events: events.New(o.Annotations), Registrar: o.Appender, Deleter: o.Deleter, AllowDelete: o.AllowDelete, Schemas: schemas, Aggregation: aggregations, Templates: templates,
		Limits: o.Limits, UTF8Metrics: o.UTF8Metrics, HideAfter: o.HideAfter, Location: zone, Running: o.Running, Logger: o.Logger, Registerer: o.Registerer, Now: o.Now,
	}, nil
}

// Carbon returns the store as carbon's names reach it, for points that wait for no log, and the rules of names; nil
// without any.
func (s *Server) Carbon() (pipeline.Store, *pipeline.Rules) {
	return s.o.carbonStore(s.o.Appender), s.names
}

// Run serves carbon's port and keeps the steps of series until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.API.Run(ctx) })
	if s.carbon != nil {
		group.Go(func() error { return s.carbon.Run(ctx) })
	}
	return group.Wait()
}

// DropCaches forgets which series carbon's names have.
func (s *Server) DropCaches() {
	if s.carbon != nil {
		s.carbon.DropCaches()
	}
}

// CarbonAddr returns the address of carbon's lines, empty without one.
func (s *Server) CarbonAddr() string {
	return s.CarbonAddrs()[carbon.Lines]
}

// CarbonAddrs returns the addresses that carbon's ports are bound to, by protocol: "carbon", which are
// lines, "carbon pickle", "carbon protobuf".
func (s *Server) CarbonAddrs() map[string]string {
	if s.carbon == nil {
		return nil
	}
	return s.carbon.Addresses()
}

// Close unbinds the port of a Server that never ran.
func (s *Server) Close() error {
	if s.carbon == nil {
		return nil
	}
	return s.carbon.Close()
}
