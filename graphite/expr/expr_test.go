package expr

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// slow is far beyond what parsing takes, also on a machine that does other things.
const slow = 10 * time.Second

func parse(target string) (Node, error) { return Parser{}.Parse(target) }

// TestGrammar parses each target, which stands between > and <.
func TestGrammar(t *testing.T) {
	datadriven.RunTest(t, "testdata/grammar", func(t *testing.T, d *datadriven.TestData) string {
		target := strings.TrimSuffix(strings.TrimPrefix(d.Input, ">"), "<")
		n, err := parse(target)
		if err != nil {
			return "error\n"
		}
		return n.String() + "\n"
	})
}

func TestCallKeepsItsText(t *testing.T) {
	const target = "f(seriesByTag( 'a=b',\t\"c=d\" ) )"
	n, err := parse(target)
	if err != nil {
		t.Fatal(err)
	}
	got := n.(*Call).Args[0].(*Call).Raw
	// The tab reaches to column 24, from 21.
	if want := "seriesByTag( 'a=b',   \"c=d\" )"; got != want {
		t.Errorf("Raw = %q, want %q", got, want)
	}
}

func TestUTF8Metrics(t *testing.T) {
	n, err := Parser{UTF8Metrics: true}.Parse("odd.жук|f()")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := n.String(), "(pipe (path odd.жук) (call f))"; got != want {
		t.Errorf("Parse = %s, want %s", got, want)
	}
}

// TestDepth also checks that the cost of nesting grows only with its length.
func TestDepth(t *testing.T) {
	deep := func(open string, n int) string { return strings.Repeat(open, n) + "a" + strings.Repeat(")", n) }
	for _, open := range []string{"f(", "template(", "f(1,k=", "template(f("} {
		if _, err := parse(deep(open, 60)); err != nil {
			t.Errorf("60 × %s: %v", open, err)
		}
	}
	if _, err := parse(deep("f(", 10*MaxDepth)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("Parse of %d calls = %v, want an error about depth", 10*MaxDepth, err)
	}
}

// FuzzParse checks that the text of every parsed call parses to the same call.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a.b", "f(a,1,'s',k=none)|g(1e3)", "template(a.$x,x='1')", "f({a,b}.c\\,d;e=f)", "f(g(\"\\x41\")|h()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		n, err := Parser{UTF8Metrics: true}.Parse(target)
		if err != nil {
			return
		}
		c, ok := n.(*Call)
		if !ok {
			return
		}
		again, err := Parser{UTF8Metrics: true}.Parse(c.Raw)
		if err != nil {
			t.Fatalf("Parse(%q) of a call that was parsed: %v", c.Raw, err)
		}
		if again.String() != n.String() {
			t.Fatalf("Parse(%q) = %s, want %s", c.Raw, again, n)
		}
	})
}

// FuzzParseGrows repeats pieces of targets up to hundreds of kilobytes: parsing takes time in
// proportion to the length, and no deep stack.
func FuzzParseGrows(f *testing.F) {
	for _, s := range [][3]string{
		{"f(", "a", ")"},
		{"template(", "a", ",x=1)"},
		{"{a,", "b", "}"},
		{"a|f(", "b", ")"},
		{"f('", "x", "',"},
		{"f(a=", "1", ")"},
		{"a.", "b", "|f()"},
		{"f(1e", "9", ","},
		{"\\{", "a", "\\}"},
		{"f(\"\\x4", "1", "\""},
		{"\t", "a", "\n"},
		{"-", "1", "."},
		{"f(none,", "true", "|"},
	} {
		f.Add(s[0], s[1], s[2], uint(3))
		f.Add(s[0], s[1], s[2], uint(150))
		f.Add(s[0], s[1], s[2], uint(90_000))
	}
	f.Fuzz(func(t *testing.T, open, middle, shut string, n uint) {
		grow := func(s string) string { return strings.Repeat(s, min(int(n%100_000), 300_000/max(len(s), 1))) }
		begin := time.Now()
		_, _ = Parser{UTF8Metrics: n%2 == 0}.Parse(grow(open) + middle + grow(shut))
		if took := time.Since(begin); took > slow {
			t.Fatalf("%.50q, %.50q, %.50q × %d took %v", open, middle, shut, n, took)
		}
	})
}
