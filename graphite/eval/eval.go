// Package eval computes Graphite targets: a syntax tree and fetched series in, series out. It
// answers as graphite-web 1.1.10 does, names, tags, nulls and times included, and keeps its
// oddities on purpose; README.md lists functions and oddities. It fetches nothing itself (see
// Source), knows no store and no HTTP, and never changes the values of a series it was given.
package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/functions"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Evaluator knows the functions. It is immutable and safe for concurrent use.
type Evaluator struct{ functions map[string]*call.Function }

// New returns an evaluator with all functions.
func New() *Evaluator { return &Evaluator{functions: functions.All()} }

// Functions returns the functions by name. They are not to be changed.
func (e *Evaluator) Functions() map[string]*call.Function { return e.functions }

// run is one request being computed.
type run struct {
	call.Resources
	ev      *Evaluator
	request call.Request
	source  Source
	fetched map[fetchKey][]*series.Series
	trace   *query.Trace     // of the request
	reads   map[fetchKey]int // numbers in the trace
	series  int
	points  int
	depth   int // of calls
}

// scope is a Scope with the run that it is a part of.
type scope struct {
	*run
	call.Scope
	again  bool // A first argument is evaluated again.
	values replacements
	made   int // How many functions have made up the target that this is in.
}

// maxDepth is how deep calls may be nested when targets that functions make up and pipes are
// counted in.
const maxDepth = 1000

// Eval computes targets, in order, into one list. The series may share values; they belong to the
// caller.
func (e *Evaluator) Eval(ctx context.Context, targets []expr.Node, request call.Request, source Source) ([]*series.Series, error) {
	lists, err := e.EvalEach(ctx, targets, request, source)
	return slices.Concat(lists...), err
}

// EvalEach is Eval with a list for each target.
func (e *Evaluator) EvalEach(ctx context.Context, targets []expr.Node, request call.Request, source Source) ([][]*series.Series, error) {
	r := &run{Resources: call.ResourcesOf(ctx), ev: e, request: request, source: source, fetched: map[fetchKey][]*series.Series{}, trace: query.TraceOf(ctx), reads: map[fetchKey]int{}}
	s := &scope{run: r, Scope: call.NewScope(&r.request)}
	if err := s.prefetch(targets...); err != nil {
		return nil, err
	}
	out, before := make([][]*series.Series, len(targets)), computed{}
	for i, t := range targets {
		var err error
		if out[i], err = s.targetOnce(t, before); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// target computes an expression that must give series.
func (s *scope) target(n expr.Node) ([]*series.Series, error) {
	if err := s.prefetch(n); err != nil {
		return nil, err
	}
	v, err := s.eval(n)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []*series.Series:
		return v, nil
	case [][]*series.Series:
		if len(v) == 0 {
			return nil, nil
		}
	}
	return nil, python.Crash("%s gives no list of series", n)
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
		s.XFilesFactor, s.Stacks = inner.XFilesFactor, inner.Stacks
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
		return python.Inf()
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
	if err := s.Turn.Yield(s.Ctx); err != nil {
		return nil, err
	}
	if s.depth++; s.depth > maxDepth {
		return nil, python.Invalid("calls nested deeper than %d", maxDepth)
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
func sizeOf(v any) (found, points int) {
	switch v := v.(type) {
	case []*series.Series:
		for _, s := range v {
			points += len(s.Values)
		}
		return len(v), points
	case [][]*series.Series:
		for _, list := range v {
			n, of := sizeOf(list)
			found, points = found+n, points+of
		}
	}
	return found, points
}

// called evaluates the arguments of a function, and calls it.
func (s *scope) called(fn *call.Function, n *expr.Call, piped func() (expr.Node, any, error)) (any, error) {
	var args []any
	var written expr.Node
	if piped != nil {
		first, v, err := piped()
		if err != nil {
			return nil, err
		}
		written, args = first, append(args, v)
	} else if len(n.Args) > 0 {
		written = n.Args[0]
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
	return call.New(fn, written, &s.Scope, &s.Resources, s).Dispatch(args, kwargs)
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

// EvalAgain computes a first argument in another window. Values of a template are not put in again: what stands
// for one is then a path without series, in graphite-web too.
func (s *scope) EvalAgain(n expr.Node, w call.Window) ([]*series.Series, error) {
	inner := *s
	inner.Window, inner.again, inner.values = w, true, nil
	return inner.target(n)
}

// maxMadeTargets is how deep targets that functions make up may be nested: a name may be a target
// that makes up itself.
const maxMadeTargets = 10

// EvalMade computes a target that a function has made up.
func (s *scope) EvalMade(n expr.Node) ([]*series.Series, error) {
	inner := *s
	if inner.made++; inner.made > maxMadeTargets {
		return nil, python.Invalid("targets made up by functions nested deeper than %d", maxMadeTargets)
	}
	inner.again, inner.values = false, nil
	return inner.target(n)
}

// Functions returns all functions by name.
func (s *scope) Functions() map[string]*call.Function { return s.ev.functions }

// Events returns the times of the events in the window that have all tags.
func (s *scope) Events(tags []string) ([]int64, error) {
	source, ok := s.source.(EventSource)
	if !ok || tags != nil && len(tags) == 0 {
		return nil, nil
	}
	return source.Events(s.Ctx, tags, s.Window.From, s.Window.Until)
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
		list = list.with(python.Text(int64(i+1)), scalar(a))
	}
	names := make([]string, 0, len(s.Request.Template))
	for name := range s.Request.Template {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = list.with(name, s.Request.Template[name])
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
			word, by := "$"+r.name, python.Text(r.value)
			if call.ReplacedBytes(path, word, by) > expr.MaxTarget {
				return "", nil, true, python.Invalid("the values of a template make a path of more than %d bytes", expr.MaxTarget)
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
		f, ok := python.ParseFloat(s)
		if !ok {
			return "", nil, true, python.Crash("could not convert string to float: '%s'", s)
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
