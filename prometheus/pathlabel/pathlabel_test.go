package pathlabel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func TestSplit(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	for _, c := range []struct {
		selector string
		patterns []string
		others   int
		err      string
	}{
		{`{__graphite__="a.*.b"}`, []string{"a.*.b"}, 0, ""},
		{`x{__graphite__="a", host=~"x.*", __graphite__="a", __graphite__="b"}`, []string{"a", "b"}, 2, ""},
		{`x{host="a"}`, nil, 2, ""},
		{`{__graphite__="a.(b|c\\.d|*).(e).f(g|h"}`, []string{`a.{b,c\.d,*}.(e).f(g|h`}, 0, ""},
		{`{__graphite__="((a|b))"}`, []string{"({a,b})"}, 0, ""},
		{`{__graphite__="()|)"}`, []string{"()|)"}, 0, ""},
		{`{__graphite__=~"a.*"}`, nil, 0, `matcher __graphite__=~"a.*"`},
		{`x{__graphite__!="a"}`, nil, 0, `matcher __graphite__!="a"`},
		{`x{__graphite__!~"a"}`, nil, 0, `matcher __graphite__!~"a"`},
		{`x{__graphite__=""}`, nil, 0, `matcher __graphite__="": the pattern is empty`},
	} {
		ms, err := p.ParseMetricSelector(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		patterns, others, err := Split(ms)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.selector, err, c.err)
			}
			if _, parsed := Parser(p).ParseMetricSelector(c.selector); parsed == nil || parsed.Error() != err.Error() {
				t.Errorf("%s: the parser reports %v", c.selector, parsed)
			}
			continue
		}
		if diff := cmp.Diff(c.patterns, patterns); err != nil || diff != "" || len(others) != c.others {
			t.Errorf("%s: %v %d %s", c.selector, err, len(others), diff)
		}
	}
}

// Evaluated makes absent() leave the label out, and changes nothing else.
func TestEvaluated(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	for text, want := range map[string]string{
		`absent({__graphite__="a",x="y"})`:                   `absent({__graphite__="a",__graphite__="a",x="y"})`,
		`absent_over_time({__graphite__="a"}[5m] offset 1m)`: `absent_over_time({__graphite__="a",__graphite__="a"}[5m] offset 1m)`,
		`absent(sum({__graphite__="a"}))`:                    "",
		`{__graphite__="a"} or absent(x{y="z"})`:             "",
	} {
		if want == "" {
			want = text
		}
		got, err := Evaluated(p).ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := p.ParseExpr(want)
		if err != nil {
			t.Fatal(err)
		}
		if sorted(got) != sorted(expected) {
			t.Errorf("%s: %s, want %s", text, got, expected)
		}
	}
	if _, err := Evaluated(p).ParseExpr(`rate({__graphite__=~"a"}[5m])`); err == nil {
		t.Error("a regular expression was taken")
	}
}

// sorted prints an expression with its matchers in order.
func sorted(e parser.Expr) string {
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			ms := s.LabelMatchers
			for i := range ms {
				for k := range i {
					if ms[i].String() < ms[k].String() {
						ms[i], ms[k] = ms[k], ms[i]
					}
				}
			}
		}
		return nil
	})
	return e.String()
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"a.(b|c)", "(()|)", ")(|", "(a|b)(c|d)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := pattern(value)
		if len(got) != len(value) {
			t.Errorf("%q: %q", value, got)
		}
		if again, _, err := Split([]*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, Name, "x"+value)}); err != nil || len(again) != 1 {
			t.Errorf("%q: %v", value, err)
		}
	})
}
