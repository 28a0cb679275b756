package eval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Request is what a render request contains in addition to its targets. Times are epoch seconds.
type Request struct {
	From, Until int64
	// Now is what storage takes for the present; 0 means Clock.
	Now int64
	// Clock is the time on the wall, which some functions use even when Now is another. 0 means
	// Now.
	Clock int64
	// Zone is the request's zone, Local the server's, which some functions use instead; nil means
	// UTC.
	Zone, Local *time.Location
	// XFilesFactor is the default for aggregates and consolidation.
	XFilesFactor float64
	// Template holds values for template(), by name.
	Template map[string]string
	// UTF8Metrics is for targets that functions make up; see expr.Parser.
	UTF8Metrics bool
	Limits      Limits
}

// Limits bound what a request may cost; 0 means no limit.
type Limits struct {
	// Series and Points bound what is fetched and made, over the whole request.
	Series, Points int
}

func (r Request) parser() expr.Parser   { return expr.Parser{UTF8Metrics: r.UTF8Metrics} }
func (r Request) zone() *time.Location  { return orUTC(r.Zone) }
func (r Request) local() *time.Location { return orUTC(r.Local) }

func (r Request) localTime(unix int64) time.Time { return time.Unix(unix, 0).In(r.local()) }

func orUTC(l *time.Location) *time.Location {
	if l == nil {
		return time.UTC
	}
	return l
}

func (r Request) clock() time.Time {
	if r.Clock != 0 {
		return time.Unix(r.Clock, 0)
	}
	return time.Unix(r.Now, 0)
}

// window is the time range in which a part of a target is computed, with the zone offsets of its
// ends: Python's datetimes keep the offset they were made with, also when they are moved over a
// change of zone.
type window struct {
	from, until             int64
	fromOffset, untilOffset int64
	// fromSaves and untilSaves tell whether these offsets are those of daylight saving time.
	fromSaves, untilSaves bool
}

func (r Request) window() window {
	from, until := time.Unix(r.From, 0).In(r.zone()), time.Unix(r.Until, 0).In(r.zone())
	_, fromOffset := from.Zone()
	_, untilOffset := until.Zone()
	return window{r.From, r.Until, int64(fromOffset), int64(untilOffset), from.IsDST(), until.IsDST()}
}

// moved returns the window, both ends moved.
func (w window) moved(from, until int64) window {
	w.from += from
	w.until += until
	return w
}

// Evaluator knows the functions. It is immutable and safe for concurrent use.
type Evaluator struct{ functions map[string]*Function }

// New returns an evaluator with all functions.
func New() *Evaluator {
	e := &Evaluator{functions: map[string]*Function{}}
	for _, family := range families() {
		for _, f := range family {
			f.parseSignature()
			e.functions[f.Name] = &f
		}
	}
	e.completeOptions()
	return e
}

// Functions returns the functions by name. They are not to be changed.
func (e *Evaluator) Functions() map[string]*Function { return e.functions }

// run is one request being computed.
type run struct {
	ctx     context.Context //nolint:containedctx // A run lives as long as one Eval.
	ev      *Evaluator
	request Request
	source  Source
	fetched map[fetchKey][]*Series
	account *query.Account   // of the request; nil has no limit
	turn    *query.Turn      // of the request, to compute
	trace   *query.Trace     // of the request
	reads   map[fetchKey]int // numbers in the trace
	series  int
	points  int
	settled int // calls whose results were charged
	depth   int // of calls
}

// scope is graphite-web's requestContext. Functions that evaluate something again do so in a copy,
// so that what is set there (by setXFilesFactor, by stacked) is lost with it.
type scope struct {
	*run
	window window
	xff    float64
	stacks map[string][]float64
	again  bool // A first argument is evaluated again.
	values replacements
	made   int // How many functions have made up the target that this is in.
}

// maxDepth is how deep calls may be nested when targets that functions make up and pipes are
// counted in.
const maxDepth = 1000

// Eval computes targets, in order, into one list. The series may share values; they belong to the
// caller.
func (e *Evaluator) Eval(ctx context.Context, targets []expr.Node, request Request, source Source) ([]*Series, error) {
	lists, err := e.EvalEach(ctx, targets, request, source)
	return slices.Concat(lists...), err
}

// EvalEach is Eval with a list for each target.
func (e *Evaluator) EvalEach(ctx context.Context, targets []expr.Node, request Request, source Source) ([][]*Series, error) {
	r := &run{ctx: ctx, ev: e, request: request, source: source, fetched: map[fetchKey][]*Series{}, account: query.AccountOf(ctx), turn: query.TurnOf(ctx), trace: query.TraceOf(ctx), reads: map[fetchKey]int{}}
	s := &scope{run: r, window: request.window(), xff: request.XFilesFactor}
	if err := s.prefetch(targets...); err != nil {
		return nil, err
	}
	out, before := make([][]*Series, len(targets)), computed{}
	for i, t := range targets {
		var err error
		if out[i], err = s.targetOnce(t, before); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// target computes an expression that must give series.
func (s *scope) target(n expr.Node) ([]*Series, error) {
	if err := s.prefetch(n); err != nil {
		return nil, err
	}
	v, err := s.eval(n)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []*Series:
		return v, nil
	case [][]*Series:
		if len(v) == 0 {
			return nil, nil
		}
	}
	return nil, crash("%s gives no list of series", n)
}

// eval computes a node to nil, bool, int64, float64, string, []*Series or [][]*Series.
func (s *scope) eval(n expr.Node) (any, error) {
	switch n := n.(type) {
	case *expr.Path:
		return s.path(n.Text)
	case *expr.Call:
		return s.call(n, nil)
	case *expr.Pipe:
		return s.pipe(n, len(n.Calls))
	case *expr.Template:
		inner := *s
		inner.values = s.replacements(n)
		v, err := inner.eval(n.Body)
		s.xff, s.stacks = inner.xff, inner.stacks
		return v, err
	}
	return scalar(n), nil
}

func scalar(n expr.Node) any {
	switch n := n.(type) {
	case expr.Int:
		return int64(n)
	case expr.Float:
		return float64(n)
	case expr.String:
		return string(n)
	case expr.Bool:
		return bool(n)
	case expr.Inf:
		return inf()
	}
	return nil
}

// pipe computes the first n calls of a pipe. graphite-web takes the calls off a pipe as it
// evaluates them, so that a function that evaluates its argument again, such as movingAverage, sees
// the base only. Kept: the answers are equal.
func (s *scope) pipe(p *expr.Pipe, n int) (any, error) {
	if n == 0 || s.again {
		return s.eval(p.Base)
	}
	return s.call(p.Calls[n-1], func() (expr.Node, any, error) {
		v, err := s.pipe(p, n-1)
		return p.Base, v, err
	})
}

// call evaluates arguments, with a piped one first, and calls the function.
func (s *scope) call(n *expr.Call, piped func() (expr.Node, any, error)) (any, error) {
	if n.Name == "template" {
		return nil, errTemplate()
	}
	if n.Name == "seriesByTag" {
		return s.fetch(n.Raw)
	}
	fn, err := s.ev.function(n.Name)
	if err != nil {
		return nil, err
	}
	if err := s.turn.Yield(s.ctx); err != nil {
		return nil, err
	}
	if s.depth++; s.depth > maxDepth {
		return nil, invalid("calls nested deeper than %d", maxDepth)
	}
	defer func() { s.depth-- }()
	step := s.trace.Enter(n.Name, n.Raw)
	defer step.End()
	v, err := s.called(fn, n, piped)
	if err == nil {
		step.Result(sizeOf(v))
	}
	return v, err
}

// sizeOf returns how many series and points a value has.
func sizeOf(v any) (series, points int) {
	switch v := v.(type) {
	case []*Series:
		for _, s := range v {
			points += len(s.Values)
		}
		return len(v), points
	case [][]*Series:
		for _, list := range v {
			n, of := sizeOf(list)
			series, points = series+n, points+of
		}
	}
	return series, points
}

// called evaluates the arguments of a function, and calls it.
func (s *scope) called(fn *Function, n *expr.Call, piped func() (expr.Node, any, error)) (any, error) {
	c := &call{scope: s, fn: fn}
	var args []any
	if piped != nil {
		first, v, err := piped()
		if err != nil {
			return nil, err
		}
		c.first, args = first, append(args, v)
	} else if len(n.Args) > 0 {
		c.first = n.Args[0]
	}
	for _, a := range n.Args {
		v, err := s.eval(a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	kwargs, err := s.keywords(n.Kwargs)
	if err != nil {
		return nil, err
	}
	return c.dispatch(args, kwargs)
}

func (s *scope) keywords(list []expr.Kwarg) (map[string]any, error) {
	kwargs := make(map[string]any, len(list))
	for _, k := range list {
		v, err := s.eval(k.Value)
		if err != nil {
			return nil, err
		}
		kwargs[k.Name] = v
	}
	return kwargs, nil
}

// dispatch validates, binds and calls.
func (c *call) dispatch(args []any, kwargs map[string]any) (any, error) {
	if a, k, err := c.fn.validate(args, kwargs); err == nil {
		args, kwargs = a, k
	}
	bound, err := c.fn.bind(args, kwargs)
	if err != nil {
		return nil, err
	}
	c.args = bound
	given := seriesLists(args, kwargs)
	if !c.reserveLike(given) {
		return nil, c.err
	}
	out, err := c.run()
	var bad *InputError
	if errors.As(err, &bad) && bad.Func == "" {
		bad.Func = c.fn.Name
	}
	if list, ok := out.([]*Series); ok && err == nil {
		err = c.scope.count(list)
	}
	if err == nil {
		err = c.settle(given, out)
	}
	return out, err
}

// count keeps the limits on what functions make: values that the run has not seen before.
func (r *run) count(list []*Series) error {
	if r.request.Limits.Points == 0 {
		return nil
	}
	points := 0
	for _, s := range list {
		points += len(s.Values)
	}
	if points > r.request.Limits.Points {
		return invalid("more than %d points (--query.max-samples)", r.request.Limits.Points)
	}
	return nil
}

// replacements are the values of a template, in the order in which graphite-web tries them.
type replacements []replacement

type replacement struct {
	name  string
	value any
}

// replacements takes the arguments of a template, and over them those of the request.
func (s *scope) replacements(t *expr.Template) replacements {
	var list replacements
	for _, k := range t.Kwargs {
		list = list.with(k.Name, scalar(k.Value))
	}
	for i, a := range t.Args {
		list = list.with(text(int64(i+1)), scalar(a))
	}
	names := make([]string, 0, len(s.request.Template))
	for name := range s.request.Template {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = list.with(name, s.request.Template[name])
	}
	return list
}

func (l replacements) with(name string, value any) replacements {
	for i := range l {
		if l[i].name == name {
			l[i].value = value
			return l
		}
	}
	return append(l, replacement{name, value})
}

// apply puts values into a path. A path that is nothing but one name becomes its value: a number
// stays one, a text that looks like one becomes one. done is true when the result is not a path.
func (l replacements) apply(path string) (string, any, bool, error) {
	for _, r := range l {
		if path != "$"+r.name {
			word, by := "$"+r.name, text(r.value)
			if replacedBytes(path, word, by) > expr.MaxTarget {
				return "", nil, true, invalid("the values of a template make a path of more than %d bytes", expr.MaxTarget)
			}
			path = strings.ReplaceAll(path, word, by)
			continue
		}
		s, isText := r.value.(string)
		if !isText {
			return "", r.value, true, nil
		}
		if !looksLikeNumber(s) {
			return "", s, true, nil
		}
		f, ok := parseFloat(s)
		if !ok {
			return "", nil, true, crash("could not convert string to float: '%s'", s)
		}
		return "", f, true, nil
	}
	return path, nil, false, nil
}

// looksLikeNumber is `^-?[\d.]+$`.
func looksLikeNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

func (s *scope) path(path string) (any, error) {
	path, v, done, err := s.values.apply(path)
	if done || err != nil {
		return v, err
	}
	return s.fetch(path)
}
