package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// ReloadPath is where a reload is asked for.
const ReloadPath = "/-/reload"

// LiveFlags are the flags whose change a reload applies. The others need a restart: they size what is
// made at the start, name where the tables are, or decide what names and points become.
func LiveFlags() []string {
	return []string{
		"graphite.graph-templates", "graphite.hide-after", "graphite.storage-aggregation", "graphite.storage-schemas", "graphite.time-zone", "graphite.utf8-metrics",
		"log.level",
		"opentsdb.allow-delete", "opentsdb.allow-edits", "opentsdb.limits", "opentsdb.max-points", "opentsdb.time-zone",
		"query.max-memory-bytes", "query.max-samples", "query.max-series", "query.slow-after", "query.timeout",
		"web.cors-origin",
		"write.max-active-series", "write.max-new-branches-per-second", "write.max-new-series-per-second", "write.max-path-depth",
	}
}

// withLive returns the options with the values of another configuration for what a reload applies.
func (o Options) withLive(n Options) Options {
	g, from := &o.Graphite, n.Graphite
	g.GraphTemplates, g.HideAfter, g.Aggregation, g.Schemas, g.TimeZone, g.UTF8Metrics = from.GraphTemplates, from.HideAfter, from.Aggregation, from.Schemas, from.TimeZone, from.UTF8Metrics
	t := &o.OpenTSDB
	t.AllowDelete, t.AllowEdits, t.LimitsFile, t.MaxPoints, t.TimeZone = n.OpenTSDB.AllowDelete, n.OpenTSDB.AllowEdits, n.OpenTSDB.LimitsFile, n.OpenTSDB.MaxPoints, n.OpenTSDB.TimeZone
	o.QueryMemory, o.QuerySamples, o.QuerySeries, o.QuerySlow, o.QueryTimeout = n.QueryMemory, n.QuerySamples, n.QuerySeries, n.QuerySlow, n.QueryTimeout
	o.LogLevel, o.CORSOrigin, o.ActiveSeries, o.NewSeries = n.LogLevel, n.CORSOrigin, n.ActiveSeries, n.NewSeries
	o.NewBranches, o.PathDepth = n.NewBranches, n.PathDepth
	o.RetentionRules, o.PromConfig = n.RetentionRules, n.PromConfig
	o.Flags, o.Settings = liveValues(o.Flags, n.Flags), liveValues(o.Settings, n.Settings)
	o.Several, o.Lists = liveValues(o.Several, n.Several), withList(o.Lists, n.Lists, retentionList)
	return o
}

// liveValues returns the values of flags with those of others for what a reload applies.
func liveValues[V any](flags, others map[string]V) map[string]V {
	all := map[string]V{}
	maps.Copy(all, flags)
	for _, name := range LiveFlags() {
		if value, ok := others[name]; ok {
			all[name] = value
		} else {
			delete(all, name)
		}
	}
	return all
}

// withList returns the lists with one of others, or without it.
func withList(lists, others map[string]*yaml.Node, name string) map[string]*yaml.Node {
	all := map[string]*yaml.Node{}
	maps.Copy(all, lists)
	if delete(all, name); others[name] != nil {
		all[name] = others[name]
	}
	return all
}

// retentionList is the list of the configuration file that a reload applies.
const retentionList = "retention"

// A generation is what answers requests by one configuration. A request that begins with one ends with
// it. It does not change.
type generation struct {
	o          Options
	prometheus *prom.Server
	graphite   *graphite.Server
	opentsdb   *opentsdb.Server
	writes     http.Handler // of remote write
	routes     http.Handler
}

// A Change is a setting that differs from the one that holds.
type Change struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// A Reloaded is the outcome of a reload.
type Reloaded struct {
	Applied []Change `json:"applied"`
	Restart []Change `json:"needsRestart"` // these keep their value until a restart
}

// A reloader applies configurations.
type reloader struct {
	adapter   *Adapter
	success   prometheus.Gauge
	succeeded prometheus.Gauge
	failed    atomic.Bool  // the last attempt
	last      atomic.Int64 // good one, nanoseconds since 1970

	mu    sync.Mutex // held during a reload; guards the rest
	began Options    // of the start, for what needs a restart
}

func newReloader(a *Adapter) *reloader {
	f := promauto.With(a.registry)
	r := &reloader{
		adapter: a, began: a.o,
		success:   f.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_config_last_reload_successful", Help: "Whether the last attempt to load the configuration was successful."}),
		succeeded: f.NewGauge(prometheus.GaugeOpts{Name: "tsdbridge_config_last_reload_success_timestamp_seconds", Help: "Time of the last successful load of the configuration."}),
	}
	r.note(a.started)
	return r
}

// note records a good load of the configuration.
func (r *reloader) note(at time.Time) {
	r.failed.Store(false)
	r.last.Store(at.UnixNano())
	r.success.Set(1)
	r.succeeded.Set(float64(at.UnixNano()) / 1e9)
}

// outcome returns whether the last attempt was good, and when the last good one was.
func (r *reloader) outcome() (bool, time.Time) {
	return !r.failed.Load(), time.Unix(0, r.last.Load()).UTC()
}

// Flags returns the flags that hold, without secrets. The caller does not change them.
func (a *Adapter) Flags() map[string]string { return a.live.Load().o.Flags }

// Reload reads the configuration and applies all of it that can change while the process runs. If
// anything is wrong with it, nothing changes.
func (a *Adapter) Reload() (Reloaded, error) { return a.reloader.load() }

// load reloads, and logs how it ended.
func (r *reloader) load() (Reloaded, error) {
	a := r.adapter
	r.mu.Lock()
	defer r.mu.Unlock()
	done, err := r.reload()
	if err != nil {
		r.success.Set(0)
		r.failed.Store(true)
		a.o.Logger.Error("the configuration was not loaded, the previous one stays in use; correct it (tsdbridge check config lists all mistakes)", "err", err)
		return done, err
	}
	r.note(a.o.Now())
	a.o.Logger.Info("configuration loaded", "applied", names(done.Applied))
	if len(done.Restart) > 0 {
		a.o.Logger.Warn("settings have changed that hold after a restart only; restart to apply them", "settings", names(done.Restart))
	}
	return done, nil
}

func names(changes []Change) string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.Name
	}
	return strings.Join(all, " ")
}

func (r *reloader) reload() (Reloaded, error) {
	a := r.adapter
	if a.o.Configure == nil {
		return Reloaded{}, errors.New("there is no configuration to read")
	}
	n, err := a.o.Configure()
	if err != nil {
		return Reloaded{}, err
	}
	old := a.live.Load()
	n.Logger = a.o.Logger
	if err := errors.Join(n.Validate(), n.CheckFiles()); err != nil {
		return Reloaded{}, err
	}
	o := old.o.withLive(n)
	// What needs a restart may make the rest valid: it must be so without, too.
	if err := o.Validate(); err != nil {
		return Reloaded{}, fmt.Errorf("with the settings that need a restart: %w", err)
	}
	next, err := r.generation(o)
	if err != nil {
		return Reloaded{}, err
	}
	if a.forward.manager != nil {
		if err := a.forward.manager.Apply(o.remoteWrite()); err != nil { // the last that may fail
			return Reloaded{}, err
		}
	}
	done := r.changes(old.o, n)
	if !next.prometheus.SameRules(old.prometheus) {
		done.Applied = append(done.Applied, Change{Name: "rules"})
	}
	r.use(next)
	return done, nil
}

// changes compares a configuration with the one from before and, for what needs a restart, with that of
// the start.
func (r *reloader) changes(old, n Options) Reloaded {
	done := Reloaded{Applied: []Change{}, Restart: []Change{}}
	live := LiveFlags()
	for _, name := range slices.Sorted(maps.Keys(n.Flags)) {
		isLive := slices.Contains(live, name)
		before := r.began
		if isLive {
			before = old
		}
		change := Change{name, before.Flags[name], n.Flags[name]}
		same := before.Settings[name] == n.Settings[name]
		switch {
		case same:
		case isLive:
			done.Applied = append(done.Applied, change)
		default:
			done.Restart = append(done.Restart, change)
		}
	}
	for _, list := range []struct {
		name      string
		from, to  any
		isApplied bool
	}{
		{"retention", old.RetentionRules, n.RetentionRules, true},
		{"rollups", r.began.FillRules, n.FillRules, false},
		{"trees", r.began.Graphite.Trees, n.Graphite.Trees, false},
	} {
		from, to := fmt.Sprintf("%+v", list.from), fmt.Sprintf("%+v", list.to)
		switch {
		case from == to:
		case list.isApplied:
			done.Applied = append(done.Applied, Change{Name: list.name})
		default:
			done.Restart = append(done.Restart, Change{Name: list.name})
		}
	}
	for _, key := range old.PromConfig.Changed(n.PromConfig) {
		done.Applied = append(done.Applied, Change{Name: key})
	}
	return done
}

// generation makes what answers requests by some options. It fails without a change.
func (r *reloader) generation(o Options) (*generation, error) {
	a := r.adapter
	old := a.live.Load()
	g := &generation{o: o}
	p, err := a.prometheusParts(o)
	if err != nil {
		return nil, err
	}
	g.prometheus = old.prometheus.With(p)
	if g.graphite, err = old.graphite.With(a.graphiteParts(o)); err != nil {
		return nil, err
	}
	if g.opentsdb, err = old.opentsdb.With(a.opentsdbParts(o)); err != nil {
		return nil, err
	}
	return g, a.mount(g)
}

// use switches everything to a new generation. It cannot fail.
func (r *reloader) use(g *generation) {
	a := r.adapter
	o := g.o
	a.store.SetSeriesLimits(o.SeriesLimits())
	a.store.SetRetentionRules(config.RetentionRules(o.RetentionRules, a.names))
	a.budget.SetLimit(o.queryMemory())
	a.running.SetSlow(o.QuerySlow)
	if o.Level != nil {
		o.Level.Set(o.LogLevel)
	}
	a.opentsdb.Use(g.opentsdb)
	a.live.Store(g)
	g.prometheus.Use()
}

// serveLive answers a request by the configuration that is in use when it begins.
func (a *Adapter) serveLive(w http.ResponseWriter, r *http.Request) {
	a.live.Load().routes.ServeHTTP(w, r)
}

// serveWrites is serveLive for remote write.
func (a *Adapter) serveWrites(w http.ResponseWriter, r *http.Request) {
	a.live.Load().writes.ServeHTTP(w, r)
}

// run reloads on each signal until ctx ends.
func (r *reloader) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.adapter.o.Reloads:
			_, _ = r.load() // it logs its errors
		}
	}
}

// serve answers a request to reload.
func (r *reloader) serve(w http.ResponseWriter, _ *http.Request) {
	if !r.adapter.o.Lifecycle {
		http.Error(w, "--web.enable-lifecycle is not set; SIGHUP reloads as well", http.StatusForbidden)
		return
	}
	done, err := r.load()
	if err != nil {
		httpapi.JSON(w, http.StatusInternalServerError, httpapi.Frame{Status: "error", ErrorType: "config", Error: err.Error()})
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: done})
}
