package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/graphite/aggregator"
	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// newFork returns the fork of a port; nil if all points are only stored.
func newFork(c Options, p Parts, names *Rules, sink *sink) (*fork, error) {
	relay, err := newRelay(c.Forward, p)
	if err != nil {
		return nil, err
	}
	in := &fork{names: names, relay: relay, series: c.SeriesCache, maxFuture: c.MaxFuture, now: p.Now}
	if c.Aggregation.Rules != "" {
		in.aggregation = newAggregation(c.Aggregation, p, sink.asNamed(), relay)
	}
	if in.aggregation == nil && relay == nil {
		return nil, nil
	}
	in.reset()
	return in, nil
}

// run runs what points go to until ctx ends, and then until ended is closed: no more points come.
func (in *fork) run(ctx context.Context, ended <-chan struct{}) error {
	group, relayCtx := errgroup.WithContext(ctx)
	all := make(chan struct{})
	group.Go(func() error {
		defer close(all)
		if in.aggregation == nil {
			<-ended
			return nil
		}
		return in.aggregation.run(ctx, ended)
	})
	group.Go(func() error { return in.relay.run(relayCtx, all) })
	return group.Wait()
}

// close closes what a fork that never ran has open.
func (in *fork) close() error {
	if in == nil {
		return nil
	}
	return in.relay.close()
}

// dropCaches forgets which series the names of aggregates have.
func (in *fork) dropCaches() {
	if in != nil && in.aggregation != nil {
		in.aggregation.sink.DropCaches()
	}
}

// changed has rules that were read again hold for names that are known.
func (in *fork) changed(ctx context.Context) {
	if in == nil {
		return
	}
	in.reset()
	if in.aggregation != nil {
		in.aggregation.keep(ctx, in.names.Aggregation())
	}
}

// A fork does what carbon-aggregator and carbon-relay do with points, once for each point that comes,
// and passes on those that are stored themselves. It is safe for concurrent use.
type fork struct {
	names       *Rules
	aggregation *aggregation // nil: none
	relay       *forwarders  // nil: none
	// series is how many names are known by their bytes.
	series int
	// maxFuture is --carbon.max-future: later points are left to the sink, which refuses them.
	maxFuture time.Duration
	now       func() time.Time
	routes    atomic.Pointer[routeTable]
	runs      sync.Pool // of *intakeRun
}

// A route is where the points of a name go.
type route struct {
	err     error                // a list drops the name, or a rule takes too long for it: the sink says so
	targets []*aggregator.Target // that they are inputs of
	own     bool                 // the name is itself an output of these
	stored  []byte               // the name under which they are stored; nil: the one that is sent
	missed  bool                 // an aggregation rule takes too long for the name
}

// plainRoute is that of names that no rule is about.
var plainRoute route

// A routeTable has the routes of names under one set of rules.
type routeTable struct {
	rules *conf.AggregationRules
	known *ingest.Cache // a name's place in list, from 1

	mu   sync.RWMutex // guards list
	list []*route
}

// intakeRun is the memory for one call of Take.
type intakeRun struct {
	lookup ingest.Lookup
	refs   []storage.Ref
	inputs []aggregator.Input
	relay  []carbon.Point
}

// reset forgets the routes of all names.
func (in *fork) reset() {
	in.routes.Store(&routeTable{rules: in.names.Aggregation(), known: ingest.NewCache(in.series)})
}

// Take gives points to the aggregation and to the relay, and returns those that are stored, in the same memory.
func (in *fork) Take(points []carbon.Point) []carbon.Point {
	if in.names == nil {
		in.relay.Put(points)
		return points
	}
	run, _ := in.runs.Get().(*intakeRun)
	if run == nil {
		run = &intakeRun{}
	}
	defer in.runs.Put(run)
	routes := in.routes.Load()
	routes.find(run, points)
	latest := int64(carbon.MaxTime)
	if in.maxFuture > 0 {
		latest = in.now().Add(in.maxFuture).Unix()
	}
	kept, missed := points[:0], 0
	received, stored := in.relay.wants(relayReceived), in.relay.wants(relayStored)
	for i := range points {
		p := &points[i]
		route := in.route(routes, run.refs[i], p.Name)
		if received && !isFiltered(route.err) {
			run.relay = append(run.relay, *p)
		}
		if route.err != nil || p.Time > latest {
			kept = append(kept, *p)
			continue
		}
		for _, target := range route.targets {
			run.inputs = append(run.inputs, aggregator.Input{Target: target, Time: p.Time, Value: p.Value})
		}
		if route.missed {
			missed++
		}
		if !in.aggregation.passes(route) {
			continue
		}
		kept = append(kept, *p)
		if stored {
			run.relay = append(run.relay, route.asStored(*p))
		}
	}
	in.aggregation.take(run.inputs, len(points)-len(kept), missed)
	in.relay.Put(run.relay)
	run.clear()
	return kept
}

// clear forgets what is part of larger memory.
func (r *intakeRun) clear() {
	clear(r.inputs)
	clear(r.relay)
	r.inputs, r.relay = r.inputs[:0], r.relay[:0]
}

// asStored returns a point under the name that it is stored under.
func (r *route) asStored(p carbon.Point) carbon.Point {
	if r.stored != nil {
		p.Name = r.stored
	}
	return p
}

// find looks the names of points up.
func (r *routeTable) find(run *intakeRun, points []carbon.Point) {
	run.refs = run.refs[:0]
	r.known.Begin(&run.lookup)
	defer run.lookup.End()
	for i := range points {
		run.refs = append(run.refs, run.lookup.Find(points[i].Name))
	}
}

// route returns the route of a name that was found, or not.
func (in *fork) route(routes *routeTable, ref storage.Ref, sent []byte) *route {
	if ref != 0 {
		routes.mu.RLock()
		defer routes.mu.RUnlock()
		return routes.list[ref-1]
	}
	name := string(sent)
	route := in.newRoute(routes.rules, name)
	if routes.add(name, route) > 2*in.series {
		in.reset() // names that were forgotten and came again have several
	}
	return route
}

// add keeps the route of a name, and returns how many there are.
func (r *routeTable) add(name string, route *route) int {
	r.mu.Lock()
	r.list = append(r.list, route)
	n := len(r.list)
	r.mu.Unlock()
	r.known.Add([]string{name}, []storage.Ref{storage.Ref(n)})
	return n
}

// newRoute asks the rules about a name.
func (in *fork) newRoute(rules *conf.AggregationRules, sent string) *route {
	name, stored, err := in.names.Of(sent)
	if err != nil {
		return &route{err: err}
	}
	route := &route{}
	if stored != sent && in.relay.wants(relayStored) {
		route.stored = []byte(stored)
	}
	err = rules.Of(name, func(rule *conf.AggregationRule, output string) {
		route.targets = append(route.targets, aggregator.NewTarget(rule, output))
		route.own = route.own || output == name
	})
	route.missed = err != nil
	if len(route.targets) == 0 && !route.missed && route.stored == nil {
		return &plainRoute
	}
	return route
}
