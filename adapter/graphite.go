package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
)

// graphiteSide is what Graphite's protocols need: the trees that names are found in, carbon's listener, the HTTP API.
type graphiteSide struct {
	o        Options
	names    *translate.Translator
	db       kv.KV
	forest   *tree.Forest
	rows     *tree.Rows
	listener *carbon.Listener // nil when the address is empty
	ingest   *graphite.Ingest
	api      *graphite.API
	follower *tree.Follower

	// prepared is closed when the trees of the configuration stand in the table and all definitions are read: what a name means
	// hangs on them.
	prepared chan struct{}

	mu  sync.Mutex // guards err
	err error      // why it is not prepared yet
}

// newGraphiteSide returns the side over tables, without a store: the store tells it of new series.
func newGraphiteSide(o Options, names *translate.Translator, db kv.KV) *graphiteSide {
	g := &graphiteSide{o: o, names: names, db: db, prepared: make(chan struct{})}
	g.forest = tree.New(db, o.treeOptions(names))
	g.rows = tree.NewRows(db, o.TableTree, translate.Shown)
	return g
}

// follow makes the follower that hangs the series of a store on trees which come later.
func (g *graphiteSide) follow(store *storage.Store) {
	g.follower = tree.NewFollower(g.forest, store, tree.FollowOptions{
		Every: g.o.IndexRefresh, Rows: g.o.Graphite.TreeIndex == TreeIndexTable, Series: store.Series, Logger: g.o.Logger, Now: g.o.Now,
	})
}

// storedSeries is the series of a metric and tag values as people write them; tag keys are stored ones.
func storedSeries(names *translate.Translator, shown storage.Series) storage.Series {
	b := labels.NewScratchBuilder(len(shown.Tags) + 1)
	b.Add(labels.MetricName, shown.Metric)
	for _, tag := range shown.Tags {
		key, ok := names.Label(tag.Key)
		if !ok {
			key = tag.Key
		}
		b.Add(key, tag.Value)
	}
	b.Sort()
	return names.FromLabels(b.Labels())
}

// Observe implements storage.Observer. Before the trees are prepared nobody knows where a series hangs.
func (g *graphiteSide) Observe(ctx context.Context, series []storage.NewSeries) error {
	select {
	case <-g.prepared:
	case <-ctx.Done():
		return fmt.Errorf("trees: %w: %w", ctx.Err(), g.problem())
	}
	return g.forest.Observe(ctx, series)
}

// problem is why the side is not prepared, nil when it is.
func (g *graphiteSide) problem() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// maxPrepareWait bounds the time between two attempts to prepare.
const maxPrepareWait = 5 * time.Second

// run prepares the trees and keeps them fresh until ctx ends.
func (g *graphiteSide) run(ctx context.Context) error {
	for wait := 50 * time.Millisecond; !g.prepare(ctx); wait = min(2*wait, maxPrepareWait) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
	close(g.prepared)
	if g.o.Graphite.TreeIndex == TreeIndexTable {
		return g.refreshDefinitions(ctx)
	}
	return g.forest.Run(ctx, g.o.IndexRefresh, g.o.Logger)
}

// prepare writes the trees of the configuration and reads all definitions.
func (g *graphiteSide) prepare(ctx context.Context) bool {
	err := g.o.declareTrees(ctx, g.db)
	if err == nil {
		err = g.forest.LoadTrees(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && ctx.Err() == nil && (g.err == nil || g.err.Error() != err.Error()) {
		g.o.Logger.Error("preparing the trees; trying again", "table", g.o.TableTree, "err", err)
	}
	g.err = err
	return err == nil
}

// refreshDefinitions keeps the definitions fresh where paths are looked up in the table.
func (g *graphiteSide) refreshDefinitions(ctx context.Context) error {
	ticker := time.NewTicker(g.o.IndexRefresh)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := g.forest.LoadTrees(ctx); err != nil && ctx.Err() == nil {
			g.o.Logger.Error("reading the definitions of trees; trying again", "table", g.o.TableTree, "err", err)
		}
	}
}

// Find implements graphite.Trees: in memory when the index is there, else in the table.
func (g *graphiteSide) Find(ctx context.Context, pattern string, o tree.FindOptions) ([]tree.Node, error) {
	if g.forest.Loaded() {
		return g.forest.Find(ctx, pattern, o)
	}
	select {
	case <-g.prepared:
	default:
		return nil, fmt.Errorf("%w: trees: %w", storage.ErrNotReady, cmp.Or(g.problem(), errors.New("not loaded yet")))
	}
	for _, t := range g.forest.Trees() {
		o.Trees = append(o.Trees, t.ID())
	}
	return g.rows.Find(ctx, pattern, o)
}

// Display implements graphite.Trees.
func (g *graphiteSide) Display(id uint16) (tree.Display, bool) { return g.forest.Display(id) }

// seriesOf is the series of a Graphite name taken whole. A name without an element, such as "...", has none; the store refuses that.
func (g *graphiteSide) seriesOf(name string) storage.Series {
	ls := translate.PathLabels(name)
	if ls.IsEmpty() {
		return storage.Series{}
	}
	return g.names.FromLabels(ls)
}

// hanger is the store as carbon's lines reach it. It makes metric and tags of the new names that a tree can be read backwards for; a name whose
// series was there before the tree goes on to mean that. A series that a tree made of a name is found under that name, also one that the store
// had before the tree: to the store it is not new, so nobody else would hang it.
type hanger struct {
	storage.Appender
	store  *storage.Store
	forest *tree.Forest
	names  *translate.Translator
}

// inverted gives the series that trees make of plain names, those that no tree takes as they are.
func (h hanger) inverted(ctx context.Context, series []storage.Series) ([]storage.Series, error) {
	var whole, made []storage.Series
	var at []int
	for i, one := range series {
		if !h.names.Plain(one) {
			continue
		}
		// The name as it would be found: without its empty elements.
		if path := h.names.ToPath(one); !strings.Contains(path, ";") {
			if shown, _, ok := h.forest.Inverse(path); ok {
				whole, made, at = append(whole, one), append(made, storedSeries(h.names, shown)), append(at, i)
			}
		}
	}
	if len(whole) == 0 {
		return series, nil
	}
	exist, err := h.store.Exists(ctx, whole)
	if err != nil {
		return nil, fmt.Errorf("look for series of whole names: %w", err)
	}
	series = slices.Clone(series)
	for n, i := range at {
		if !exist[n] {
			series[i] = made[n]
		}
	}
	return series, nil
}

// Resolve implements storage.Appender.
func (h hanger) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
	sent := len(series)
	series, err := h.inverted(ctx, series)
	if err != nil {
		refs, errs := make([]storage.Ref, sent), make([]error, sent)
		for i := range errs {
			errs[i] = err
		}
		return refs, errs
	}
	refs, errs := h.Appender.Resolve(ctx, series)
	var known []storage.NewSeries
	var at []int
	for i, ref := range refs {
		if ref != 0 && !h.names.Plain(series[i]) {
			known, at = append(known, storage.NewSeries{TSUID: h.store.TSUIDOf(ref), Series: series[i]}), append(at, i)
		}
	}
	if len(known) == 0 {
		return refs, errs
	}
	if err := h.forest.Observe(ctx, known); err != nil {
		if errs == nil {
			errs = make([]error, len(series))
		}
		for _, i := range at {
			refs[i], errs[i] = 0, err
		}
	}
	return refs, errs
}

// ready says why trees cannot be asked, nil when they can: they are in memory, or are looked up in the table.
func (g *graphiteSide) ready() error {
	select {
	case <-g.prepared:
	default:
		if err := g.problem(); err != nil {
			return fmt.Errorf("trees: %w", err)
		}
		return errors.New("trees: being read")
	}
	if g.o.Graphite.TreeIndex == TreeIndexTable || g.forest.Loaded() {
		return nil
	}
	return g.forest.Status().Err
}

// describe says how the trees are, a line each.
func (g *graphiteSide) describe(w io.Writer) {
	s := g.forest.Status()
	switch {
	case g.o.Graphite.TreeIndex == TreeIndexTable:
		fmt.Fprintf(w, "trees: looked up in %s\n", g.o.TableTree)
	case s.Err != nil:
		fmt.Fprintf(w, "trees: %v\n", s.Err)
	default:
		fmt.Fprintf(w, "trees: %d branches, %d leaves in memory\n", s.Branches, s.Leaves)
	}
	if s.DefaultErr != nil {
		fmt.Fprintf(w, "names without tags are refused: %v\n", s.DefaultErr)
	}
	for _, t := range s.Trees {
		fmt.Fprintf(w, "tree %d (%s): %s\n", t.ID, t.Name, treeText(t))
	}
}

func treeText(t tree.TreeStatus) string {
	switch {
	case t.Err != nil:
		return "left out: " + t.Err.Error()
	case t.Default:
		return "names without tags"
	case !t.Enabled:
		return "not enabled"
	case t.Inverse != nil:
		return "names are not turned into tags by it: " + t.Inverse.Error()
	}
	return "names are turned into tags by it"
}

// listen binds carbon's port.
func (g *graphiteSide) listen(a *Adapter) error {
	c := g.o.Carbon
	if c.ListenAddress == "" {
		return nil
	}
	g.ingest = graphite.NewIngest(graphite.IngestOptions{
		Appender: hanger{a.store.Logged(), a.store, g.forest, g.names}, Paths: g.seriesOf, CacheEntries: a.o.SeriesCache, MaxFuture: c.MaxFuture,
		Logger: g.o.Logger, Registerer: a.registry, Now: g.o.Now,
	})
	a.store.OnRename(g.ingest.DropCaches)
	o := carbon.DefaultOptions()
	o.Address, o.UDP, o.MaxConnections, o.IdleTimeout, o.KeepOpen = c.ListenAddress, c.UDP, c.MaxConnections, c.IdleTimeout, c.KeepOpen
	o.ShutdownGrace, o.Logger, o.Registerer, o.Now = g.o.ShutdownGrace, g.o.Logger, a.registry, g.o.Now
	var err error
	if g.listener, err = carbon.New(o); err != nil {
		return err // it names the flag
	}
	g.o.Logger.Info("listening", "protocol", "carbon", "address", g.listener.Addr().String(), "udp", c.UDP)
	return nil
}

// serveCarbon takes lines until ctx ends. What a name means is known only when the trees are: until then senders wait.
func (g *graphiteSide) serveCarbon(ctx context.Context) error {
	if g.listener == nil {
		return nil
	}
	select {
	case <-g.prepared:
		return g.listener.Run(ctx, g.ingest)
	case <-ctx.Done():
		return g.listener.Close()
	}
}

// close unbinds the port of a side that never ran.
func (g *graphiteSide) close() error {
	if g == nil || g.listener == nil {
		return nil
	}
	return g.listener.Close()
}

// routes mounts the HTTP API, and returns it by itself: Prometheus and Graphite both want /metrics.
func (g *graphiteSide) routes(r chi.Router, a *Adapter) (http.Handler, error) {
	o := g.o.Graphite
	schemas, err := o.schemas()
	if err != nil {
		return nil, err
	}
	aggregations, err := o.aggregations()
	if err != nil {
		return nil, err
	}
	for _, skipped := range append(schemas.Skipped(), aggregations.Skipped()...) {
		g.o.Logger.Warn("a section of carbon's configuration is no rule, as for carbon", "err", skipped)
	}
	zone, err := time.LoadLocation(o.TimeZone)
	if err != nil {
		return nil, errors.Join(errors.New("--graphite.time-zone"), err)
	}
	limits := graphite.DefaultLimits()
	limits.Series, limits.Points, limits.Nodes = a.o.QuerySeries, a.o.QuerySamples, a.o.QuerySeries
	limits.Timeout, limits.Concurrency = a.o.QueryTimeout, a.o.QueryParallel
	g.api = graphite.New(graphite.Options{
		Store: a.store, Trees: g, Names: a.names, Registrar: a.store, Schemas: schemas, Aggregation: aggregations,
		Limits: limits, UTF8Metrics: o.UTF8Metrics, Location: zone, Logger: g.o.Logger, Registerer: a.registry, Now: g.o.Now,
	})
	g.api.Register(r)
	alone := chi.NewRouter()
	g.api.Register(alone)
	return alone, nil
}
