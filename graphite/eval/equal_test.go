package eval

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// equalSource has one series for each path.
type equalSource struct{}

func (equalSource) Fetch(_ context.Context, list []Fetch) ([][]*series.Series, error) {
	out := make([][]*series.Series, len(list))
	for i, f := range list {
		s := &series.Series{Name: f.Pattern, Start: f.From, End: f.Until, Step: 10, Values: make([]float64, (f.Until-f.From)/10)}
		for at := range s.Values {
			s.Values[at] = float64(at % 7)
		}
		out[i] = []*series.Series{s}
	}
	return out, nil
}

// TestEqualTargets: equal targets are evaluated once, and each is as it would be alone, also when it is
// consolidated; those that remember what was before them are evaluated each.
func TestEqualTargets(t *testing.T) {
	e := New()
	eval := func(targets ...string) ([][]*series.Series, *query.Node) {
		nodes := make([]expr.Node, len(targets))
		for i, text := range targets {
			var err error
			if nodes[i], err = (expr.Parser{}).Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		ctx, trace := query.BeginTrace(t.Context())
		lists, err := e.EvalEach(ctx, nodes, call.Request{From: 1000, Until: 4000, Now: 5000}, equalSource{})
		if err != nil {
			t.Fatal(err)
		}
		return lists, trace.Plan("targets")
	}
	for _, c := range []struct {
		target string
		calls  int // of three equal targets
	}{
		{"movingAverage(a.b,5)", 1},
		{"scale(a.b,2)", 1},
		{"a.b|scale(2)|offset(1)", 2},
		{"group(a.b,a.b)", 1},
		{"template(scale(a.$x,2),x=\"a\")", 1},
		{"sumSeries(a, b)", 1},
		{"randomWalk(\"r\")", 3},
		{"stacked(a.b)", 3},
		{"setXFilesFactor(a.b,0.5)", 2},
		{"areaBetween(group(a,b))", 2},
	} {
		lists, plan := eval(c.target, c.target, c.target)
		if got := calls(plan); got != c.calls {
			t.Errorf("%s: %d calls of functions, want %d", c.target, got, c.calls)
		}
		if strings.Contains(c.target, "randomWalk") || strings.Contains(c.target, "stacked") {
			if cmp.Equal(lists[0][0].Values, lists[1][0].Values) {
				t.Errorf("%s: both are equal", c.target)
			}
			continue
		}
		alone, _ := eval(c.target)
		if err := series.Consolidate(alone[0], 7); err != nil {
			t.Fatal(err)
		}
		for i := range lists {
			if err := series.Consolidate(lists[i], 7); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(alone[0], lists[i], cmp.AllowUnexported(series.Series{}), cmpopts.EquateNaNs(), cmpopts.IgnoreFields(series.Series{}, "read", "held", "settled")); diff != "" {
				t.Errorf("%s, number %d: %s", c.target, i, diff)
			}
		}
	}
}

func calls(n *query.Node) (sum int) {
	if n == nil {
		return 0
	}
	if n.Operator != "targets" && n.Operator != "series" {
		sum++
	}
	for _, c := range n.Inputs {
		sum += calls(c)
	}
	return sum
}
