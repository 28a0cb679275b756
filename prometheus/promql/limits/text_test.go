package limits

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

func parse(text string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{ExperimentalDurationExpr: true}).ParseExpr(text)
}

// treeDepth returns the number of nodes above one another.
func treeDepth(e parser.Expr) int {
	deepest := 0
	parser.Inspect(e, func(_ parser.Node, path []parser.Node) error {
		deepest = max(deepest, len(path))
		return nil
	})
	return deepest
}

func TestText(t *testing.T) {
	rep := strings.Repeat
	for name, c := range map[string]struct {
		text string
		want string // part of the error; empty: none
	}{
		"plain":                {`sum by (job) (rate(http_requests_total{code=~"5..", job!="x"}[5m])) / 2 > bool 0.5`, ""},
		"empty":                {"", ""},
		"long string":          {`a{b="` + rep("(", 100000) + `"}`, ""},
		"comment":              {rep("#(((([{\n", 100000) + "a", ""},
		"comment ends at CR":   {"#\r" + rep("(", 2000), "nested"},
		"quoted quote":         {`a{b="\"` + rep("(", 2000) + `"}`, ""},
		"raw string":           {"a{b=`\\` + " + rep("(", 2000), "nested"},
		"raw string, ended":    {"a{b=`\\`} + " + rep("(", 2000), "nested"},
		"big":                  {rep("x", maxBytes+1), "at most 1048576"},
		"as long as may be":    {rep("x", maxBytes), ""},
		"parentheses":          {rep("(", 30000) + "1" + rep(")", 30000), "nested"},
		"only opened":          {rep("(", 30000), "nested"},
		"braces":               {rep("{", 30000), "nested"},
		"signs":                {rep("-", 100000) + "1", "nested"},
		"signs and spaces":     {rep("- ", 100000) + "1", "nested"},
		"functions":            {rep("abs(", 20000) + "a" + rep(")", 20000), "nested"},
		"aggregations":         {rep("sum by (a) (", 2000) + "a" + rep(")", 2000), "nested"},
		"sums":                 {rep("a+", 2000) + "a", "nested"},
		"words":                {rep("a or ", 2000) + "a", "nested"},
		"words in capitals":    {rep("a UNLESS ", 2000) + "a", "nested"},
		"comparisons":          {rep("a == bool ", 2000) + "a", "nested"},
		"subqueries":           {"a" + rep("[1m:1m]", 2000), "nested"},
		"durations":            {"a[" + rep("(", 2000) + "1m" + rep(")", 2000) + "]", "nested"},
		"sums of durations":    {"a[" + rep("1m+", 2000) + "1m]", "nested"},
		"brackets and sums":    {rep("(", 60) + "a" + rep(rep("+a", 60)+")", 60), "nested"},
		"sums within brackets": {rep(rep("a+", 60)+"(", 60) + "a" + rep(")", 60), "nested"},
		"many terms":           {rep("sum(rate(a[5m])) + ", 400) + "1", ""},
		"flat":                 {"(" + rep("(a+b),", 500) + "a)", ""},
		"matchers":             {`a{` + rep(`b="c",`, 100000) + `}`, "a list of more than 200"},
		"grouping":             {`sum by (` + rep(`b,`, 100000) + `) (a)`, "a list of more than 1000"},
		"arguments":            {`label_join(a, "b", "` + rep(`","c`, 100000) + `")`, "a list of more than 1000"},
		"long alternatives":    {`a{b=~"` + rep("some-pod-12345|", 20000) + `"}`, ""},
		"repeated groups":      {`a{b=~"` + rep("(a{1000})", 2000) + `"}`, "regular expressions"},
		"nested repetitions":   {`a{b=~"((((a{100}){100}){100}){100})"}`, "regular expressions"},
		"repetitions apart":    {`a{` + rep(`b=~"(ab{900}){9}", `, 190) + `}`, "regular expressions"},
		"negative":             {`a{b!~"` + rep("(a{1000})", 2000) + `"}`, "regular expressions"},
		"escaped":              {`a{b=~"` + rep(`(\x61{1000})`, 2000) + `"}`, "regular expressions"},
		"Unicode classes":      {`a{b=~"` + rep(`\\pL`, 10000) + `"}`, "regular expressions"},
		"no regular":           {`a{b="` + rep("(a{1000})", 2000) + `"}`, ""},
	} {
		err := Text(c.text)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrText) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPretty(t *testing.T) {
	if err := Pretty("sum(a) / sum(b)"); err != nil {
		t.Error(err)
	}
	long := strings.Repeat(`a{b="`+strings.Repeat("x", 2000)+`"}+`, 250) + "a"
	if err := Text(long); err != nil {
		t.Error(err)
	}
	if err := Pretty(long); !errors.Is(err, ErrText) || !strings.Contains(err.Error(), "format") {
		t.Errorf("Pretty of %d bytes: %v", len(long), err)
	}
}

func TestSelectors(t *testing.T) {
	if err := Selectors([]string{"a", `{b=~"c.*"}`}); err != nil {
		t.Error(err)
	}
	if err := Selectors(make([]string, maxItems+1)); !errors.Is(err, ErrText) {
		t.Errorf("%d selectors: %v", maxItems+1, err)
	}
	if err := Selectors([]string{"a", strings.Repeat("(", 2000)}); !errors.Is(err, ErrText) {
		t.Errorf("deep selector: %v", err)
	}
}

func TestRegexps(t *testing.T) {
	for pattern, want := range map[string]int{
		"": 1, "abc": 4, "a{10}": 11, "(ab){10}": 41, "a{2,5}": 6, "a{3,}": 4, "a{,3}": 6, "a{x": 4, `\d{4}`: 5, "[a-z]{3}": 4, `[]\]{9}]{2}`: 4, "((a{10}){10}){10}": 1000,
	} {
		if got := regexpCost(pattern); got < want/2 || got > want*2 {
			t.Errorf("%s costs %d, want about %d", pattern, got, want)
		}
	}
	if err := Regexps(".*", "a|b"); err != nil {
		t.Error(err)
	}
	if err := Regexps("(a{1000}){1000}", "(a{1000}){1000}"); !errors.Is(err, ErrText) {
		t.Errorf("large repetitions: %v", err)
	}
	if err := Regexps(strings.Repeat("a", maxBytes+1)); !errors.Is(err, ErrText) {
		t.Errorf("a long expression: %v", err)
	}
}

// pieces make texts that are long and deep in all ways of the grammar. A text is a sequence of
// pieces, each repeated.
func pieces() []string {
	return []string{
		"(", ")", "a", "1", "-", "+", " ", ",", "{", "}", "[5m]", "[5m:1m]", "[", "]", ":", "5m", `"`, "'", "`", `\`, "#", "\n", "\r", "sum(", "sum by (a) (",
		"abs(", "a+", "a or ", "a == ", "(a+", "+a)", "a{", `b="c"`, `b=~"c"`, "=~", "offset 5m", "@ 1", "@ end()", "label_replace(", "topk(3,", "by (", "on (", "or", "é", "\x00",
		"a{1000}", "^", "!", "!=", "<", ">/", "atan2", "1e-5", "0x1", "{{", "step()", "max(",
	}
}

// build makes the text that data describes: two bytes are a piece and how often it comes.
func build(data []byte) string {
	var b strings.Builder
	all := pieces()
	for i := 0; i+1 < len(data) && b.Len() < maxBytes+1000; i += 2 {
		b.WriteString(strings.Repeat(all[int(data[i])%len(all)], 1+int(data[i+1])*int(data[i+1])/16))
	}
	return b.String()
}

// The parser takes little time for every text that the check accepts, and the tree is no deeper
// than the check reported.
func FuzzText(f *testing.F) {
	for i := range pieces() {
		f.Add([]byte{byte(i), 255, 2, 0, 1, 255})
		f.Add([]byte{byte(i), 3, 2, 0, 5, 30, 2, 0, 1, 3})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := build(data)
		if Text(text) != nil {
			return
		}
		bound, err := depth(text)
		if err != nil {
			t.Fatal(err)
		}
		expr, err := parse(text)
		if err != nil {
			return
		}
		if d := treeDepth(expr); d > bound {
			t.Errorf("%.100q is %d deep, more than %d", text, d, bound)
		}
	})
}

func ExampleText() {
	fmt.Println(Text(strings.Repeat("(", 30000)))
	// Output: query too large: nested more than 1000 deep: brackets, signs and operators in a row count
}
