package graphite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/graphite/aggregator"
	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// newCarbonIntake returns the intake of a port; nil if all points are only stored.
func newCarbonIntake(o Options, names *nameRules, sink *carbonSink) (*carbonIntake, error) {
	c := o.Carbon
	relay, err := newCarbonRelay(c.Forward, o)
	if err != nil {
		return nil, err
	}
	in := &carbonIntake{names: names, relay: relay, series: c.SeriesCache, maxFuture: c.MaxFuture, now: o.Now}
	if c.Aggregation.Rules != "" {
		in.aggregation = newAggregation(c.Aggregation, o, sink.asNamed(), relay)
	}
	if in.aggregation == nil && relay == nil {
		return nil, nil
	}
	in.reset()
	return in, nil
}

// run runs what points go to until ctx ends, and then until ended is closed: no more points come.
func (in *carbonIntake) run(ctx context.Context, ended <-chan struct{}) error {
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

// close closes what an intake that never ran has open.
func (in *carbonIntake) close() error {
	if in == nil {
		return nil
	}
	return in.relay.close()
}

// dropCaches forgets which series the names of aggregates have.
func (in *carbonIntake) dropCaches() {
	if in != nil && in.aggregation != nil {
		in.aggregation.sink.DropCaches()
	}
}

// changed has rules that were read again hold for names that are known.
func (in *carbonIntake) changed(ctx context.Context) {
	if in == nil {
		return
	}
	in.reset()
	if in.aggregation != nil {
		in.aggregation.keep(ctx, in.names.Aggregation())
	}
}

// A carbonIntake does what carbon-aggregator and carbon-relay do with points, once for each point that comes,
// and passes on those that are stored themselves. It is safe for concurrent use.
type carbonIntake struct {
	names       *nameRules
	aggregation *aggregation // nil: none
	relay       *carbonRelay // nil: none
	// series is how many names are known by their bytes.
	series int
	// maxFuture is --carbon.max-future: later points are left to the sink, which refuses them.
	maxFuture time.Duration
	now       func() time.Time
	routes    atomic.Pointer[carbonRoutes]
	runs      sync.Pool // of *intakeRun
}

// A carbonRoute is where the points of a name go.
type carbonRoute struct {
	err     error                // a list drops the name, or a rule takes too long for it: the sink says so
	targets []*aggregator.Target // that they are inputs of
	own     bool                 // the name is itself an output of these
	stored  []byte               // the name under which they are stored; nil: the one that is sent
	missed  bool                 // an aggregation rule takes too long for the name
}

// plainRoute is that of names that no rule is about.
var plainRoute carbonRoute

// carbonRoutes are the routes of names under one set of rules.
type carbonRoutes struct {
	rules *conf.AggregationRules
	known *ingest.Cache // a name's place in list, from 1

	mu   sync.RWMutex // guards list
	list []*carbonRoute
}

// intakeRun is the memory for one call of Take.
type intakeRun struct {
	lookup ingest.Lookup
	refs   []storage.Ref
	inputs []aggregator.Input
	relay  []carbon.Point
}

// reset forgets the routes of all names.
func (in *carbonIntake) reset() {
	in.routes.Store(&carbonRoutes{rules: in.names.Aggregation(), known: ingest.NewCache(in.series)})
}

// Take gives points to the aggregation and to the relay, and returns those that are stored, in the same memory.
func (in *carbonIntake) Take(points []carbon.Point) []carbon.Point {
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
func (r *carbonRoute) asStored(p carbon.Point) carbon.Point {
	if r.stored != nil {
		p.Name = r.stored
	}
	return p
}

// find looks the names of points up.
func (r *carbonRoutes) find(run *intakeRun, points []carbon.Point) {
	run.refs = run.refs[:0]
	r.known.Begin(&run.lookup)
	defer run.lookup.End()
	for i := range points {
		run.refs = append(run.refs, run.lookup.Find(points[i].Name))
	}
}

// route returns the route of a name that was found, or not.
func (in *carbonIntake) route(routes *carbonRoutes, ref storage.Ref, sent []byte) *carbonRoute {
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
func (r *carbonRoutes) add(name string, route *carbonRoute) int {
	r.mu.Lock()
	r.list = append(r.list, route)
	n := len(r.list)
	r.mu.Unlock()
	r.known.Add([]string{name}, []storage.Ref{storage.Ref(n)})
	return n
}

// newRoute asks the rules about a name.
func (in *carbonIntake) newRoute(rules *conf.AggregationRules, sent string) *carbonRoute {
	name, stored, err := in.names.Of(sent)
	if err != nil {
		return &carbonRoute{err: err}
	}
	route := &carbonRoute{}
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
