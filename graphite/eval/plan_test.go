package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// planner determines what targets will fetch from the windows that functions declare. It exists
// only in tests, which compare the declarations with what Eval fetches.
type planner struct{ fetchList }

// Plan returns what targets will fetch as far as it can be known before anything is read:
// everything but windows that are counted in points and names that functions make up. Fetches are
// in order of first need, without repetition.
func (e *Evaluator) Plan(targets []expr.Node, request call.Request) ([]Fetch, error) {
	s := &scope{run: &run{ev: e}, Scope: call.NewScope(&request)}
	p := &planner{fetchList{seen: map[fetchKey]bool{}}}
	for _, t := range targets {
		if err := p.plan(s, t); err != nil {
			return nil, err
		}
	}
	return p.list, nil
}

func (p *planner) plan(s *scope, n expr.Node) error {
	switch n := n.(type) {
	case *expr.Path:
		path, _, done, err := s.values.apply(n.Text)
		if done || err != nil {
			return err
		}
		p.add(s, path, nil)
	case *expr.Pipe:
		return p.pipe(s, n)
	case *expr.Template:
		inner := *s
		inner.values = s.replacements(n)
		return p.plan(&inner, n.Body)
	case *expr.Call:
		return p.call(s, n, n.Args)
	}
	return nil
}

// pipe plans the base, the calls' own arguments, and the base again where a call evaluates it in
// other windows.
func (p *planner) pipe(s *scope, n *expr.Pipe) error {
	if err := p.plan(s, n.Base); err != nil || s.again {
		return err
	}
	for _, c := range n.Calls {
		if err := p.call(s, c, append([]expr.Node{n.Base}, c.Args...)); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) call(s *scope, n *expr.Call, args []expr.Node) error {
	if n.Name == "seriesByTag" {
		p.add(s, n.Raw, tagExpressions(n))
		return nil
	}
	for _, a := range args {
		if err := p.plan(s, a); err != nil {
			return err
		}
	}
	fn, ok := s.ev.functions[n.Name]
	if !ok || fn.Windows == nil || len(args) == 0 {
		return nil
	}
	for _, w := range furtherWindows(s, fn, n, args) {
		inner := *s
		inner.Window, inner.again, inner.values = w, true, nil
		if err := p.plan(&inner, args[0]); err != nil {
			return err
		}
	}
	return nil
}

// furtherWindows asks the function; arguments that do not fit show when it is called.
func furtherWindows(s *scope, fn *call.Function, n *expr.Call, args []expr.Node) []call.Window {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = scalar(a)
	}
	values[0] = []*series.Series(nil)
	kwargs := map[string]any{}
	for _, k := range n.Kwargs {
		kwargs[k.Name] = scalar(k.Value)
	}
	if a, k, err := fn.Validate(values, kwargs); err == nil {
		values, kwargs = a, k
	}
	bound, err := fn.Bind(values, kwargs)
	if err != nil {
		return nil
	}
	c := call.New(fn, nil, &s.Scope, &s.Resources, s)
	c.Args = bound
	list, err := fn.Windows(c)
	if err != nil || c.Err != nil {
		return nil
	}
	return list
}

func parseAll(t testing.TB, texts ...string) []expr.Node {
	t.Helper()
	var nodes []expr.Node
	for _, text := range texts {
		n, err := expr.Parser{}.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func TestPlan(t *testing.T) {
	request := call.Request{From: 10000, Until: 20000, Now: 30000}
	datadriven.RunTest(t, "testdata/plan", func(t *testing.T, d *datadriven.TestData) string {
		list, err := New().Plan(parseAll(t, strings.Split(d.Input, "\n")...), request)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		var b strings.Builder
		for _, f := range list {
			fmt.Fprintf(&b, "%s %d %d", f.Pattern, f.From-request.From, f.Until-request.Until)
			if f.Tags != nil {
				fmt.Fprintf(&b, " %q", f.Tags)
			}
			b.WriteByte('\n')
		}
		return b.String()
	})
}

// TestPlanIsWhatEvalFetches checks over the recorded targets: what was planned is fetched, and what
// was not planned is counted in points or made up by a function.
func TestPlanIsWhatEvalFetches(t *testing.T) {
	feed := readFeed(t)
	request := call.Request{From: 1741050007, Until: 1741051207, Now: 1741057200}
	e := New()
	for _, c := range readCases(t, "testdata/render.jsonl.gz") {
		form, err := c.form()
		if err != nil {
			t.Fatal(err)
		}
		target := form.Get("target")
		n, err := expr.Parser{}.Parse(target)
		if err != nil {
			continue
		}
		planned, err := e.Plan([]expr.Node{n}, request)
		if err != nil {
			t.Errorf("Plan(%s): %v", target, err)
			continue
		}
		feed.asked = nil
		if _, err := e.Eval(t.Context(), []expr.Node{n}, request, feed); err != nil {
			continue
		}
		if len(feed.asked) < len(planned) && !emptyBefore(target) {
			t.Errorf("%s: fetched %d of %d planned", target, len(feed.asked), len(planned))
		}
		for _, f := range feed.asked {
			known := slices.ContainsFunc(planned, func(p Fetch) bool { return p.Pattern == f.Pattern && p.From == f.From && p.Until == f.Until })
			if !known && !unplanned(target) {
				t.Errorf("%s: fetched %s %d %d, planned %v", target, f.Pattern, f.From-request.From, f.Until-request.Until, planned)
			}
		}
	}
}

func unplanned(target string) bool {
	return slices.ContainsFunc([]string{"moving", "Moving", "applyByNode", "aliasQuery", "useSeriesAbove"}, func(f string) bool { return strings.Contains(target, f) })
}

// emptyBefore reports whether a target has no series to evaluate again.
func emptyBefore(target string) bool { return strings.Contains(target, "nosuch") }

// counted fetches nothing more after n.
type counted struct {
	*memory
	err error
}

func (c counted) Fetch(ctx context.Context, list []Fetch) ([][]*series.Series, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.memory.Fetch(ctx, list)
}

func TestSourceErrorsPass(t *testing.T) {
	broken := errors.New("the store is away")
	_, err := New().Eval(t.Context(), parseAll(t, "sumSeries(a)"), call.Request{From: 1, Until: 2, Now: 3}, counted{err: broken})
	if !errors.Is(err, broken) {
		t.Errorf("Eval = %v, want %v", err, broken)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := New().Eval(ctx, parseAll(t, "constantLine(1)"), call.Request{From: 1, Until: 2, Now: 3}, &memory{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Eval = %v, want %v", err, context.Canceled)
	}
}

func TestLimits(t *testing.T) {
	feed := readFeed(t)
	for _, c := range []struct {
		target string
		limits call.Limits
		ok     bool
	}{
		{"test.*.a", call.Limits{Series: 4}, true},
		{"test.*.a", call.Limits{Series: 3}, false},
		{"test.h1.a", call.Limits{Points: 120}, true},
		{"test.h1.a", call.Limits{Points: 119}, false},
		{"summarize(test.h1.a,'1s')", call.Limits{Points: 1000}, false},
		{"sin('x',1,1)", call.Limits{Points: 1000}, false},
		{"timeStack(test.h1.a,'1h',0,100000000)", call.Limits{}, false},
		{"movingAverage(test.h1.a,99999999999999)", call.Limits{}, false},
		{"timeFunction('x',0)", call.Limits{}, false},
		{"summarize(test.h1.a,'-5min')", call.Limits{}, false},
	} {
		r := call.Request{From: 1741050007, Until: 1741051207, Now: 1741057200, Limits: c.limits}
		_, err := New().Eval(t.Context(), parseAll(t, c.target), r, feed)
		var input *python.InputError
		if (err == nil) != c.ok || err != nil && !errors.As(err, &input) {
			t.Errorf("Eval(%s) with %+v = %v, want ok %v", c.target, c.limits, err, c.ok)
		}
	}
}

// TestErrorWords: the texts of errors are graphite-web's.
func TestErrorWords(t *testing.T) {
	feed := readFeed(t)
	for _, c := range []struct {
		target, want string
		crash        bool
	}{
		{"nosuch(test.h1.a)", "Invalid parameters (Received request for unknown function: nosuch)", false},
		{"aggregate(test.h1.a,'x')", `Invalid parameters (Unsupported aggregation function: x); func: "aggregate"`, false},
		{"template(test.h1.a|scale(2))", "Invalid parameters (invalid template() syntax, only string/numeric arguments are allowed)", false},
		{"percentileOfSeries(test.h1.a,0)", `Invalid parameters (The requested percent is required to be greater than 0); func: "percentileOfSeries"`, false},
		{"scale(test.h1.a)", "Invalid parameters (scale() missing required argument: 'factor')", true},
	} {
		r := call.Request{From: 1741050007, Until: 1741051207, Now: 1741057200}
		_, err := New().Eval(t.Context(), parseAll(t, c.target), r, feed)
		var input *python.InputError
		if !errors.As(err, &input) || input.Error() != c.want || input.Crash != c.crash {
			t.Errorf("Eval(%s) = %v, want %s", c.target, err, c.want)
		}
	}
}
