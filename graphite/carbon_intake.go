package graphite

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/aggregator"
	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A carbonIntake does what carbon-aggregator does with points, once for each point that comes, and passes
// on those that are stored themselves. It is safe for concurrent use.
type carbonIntake struct {
	names       *nameRules
	aggregation *aggregation
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
}

// reset forgets the routes of all names.
func (in *carbonIntake) reset() {
	in.routes.Store(&carbonRoutes{rules: in.names.Aggregation(), known: ingest.NewCache(in.series)})
}

// Take gives points to the aggregation, and returns those that are stored, in the same memory.
func (in *carbonIntake) Take(points []carbon.Point) []carbon.Point {
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
	for i := range points {
		p := &points[i]
		route := in.route(routes, run.refs[i], p.Name)
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
		if in.aggregation.passes(route) {
			kept = append(kept, *p)
		}
	}
	in.aggregation.take(run.inputs, len(points)-len(kept), missed)
	clear(run.inputs)
	run.inputs = run.inputs[:0]
	return kept
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
	name, _, err := in.names.Of(sent)
	if err != nil {
		return &carbonRoute{err: err}
	}
	route := &carbonRoute{}
	err = rules.Of(name, func(rule *conf.AggregationRule, output string) {
		route.targets = append(route.targets, aggregator.NewTarget(rule, output))
		route.own = route.own || output == name
	})
	route.missed = err != nil
	if len(route.targets) == 0 && !route.missed {
		return &plainRoute
	}
	return route
}
