package glob

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Elements match what they match in graphite-web (testdata/record_globs.py).
func TestGlobsOfGraphiteWeb(t *testing.T) {
	type recording struct {
		Pattern        string
		Names, Matches []string
	}
	for _, r := range readLines[recording](t, "testdata/globs.jsonl") {
		g, err := Compile(r.Pattern)
		if err != nil {
			t.Errorf("Compile(%q): %v", r.Pattern, err)
			continue
		}
		for _, name := range r.Names {
			if got, want := g.Match(name), slices.Contains(r.Matches, name); got != want {
				t.Errorf("%q matches %q: %v, graphite-web %v", r.Pattern, name, got, want)
			}
		}
	}
}

// TestGlobs runs testdata/globs: a pattern, then paths; it prints the paths that match.
func TestGlobs(t *testing.T) {
	datadriven.RunTest(t, "testdata/globs", func(t *testing.T, d *datadriven.TestData) string {
		g, err := Compile(d.CmdArgs[0].String())
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for path := range strings.FieldsSeq(d.Input) {
			if g.Match(path) {
				fmt.Fprintln(&out, path)
			}
		}
		return out.String()
	})
}

func TestGlobLimits(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("a.", 61) + "**.b", strings.Repeat("{a,b}", 13)} {
		if _, err := Compile(pattern); !errors.Is(err, storage.ErrLimit) {
			t.Errorf("Compile(%q): %v, want ErrLimit", pattern, err)
		}
	}
}

// TestGlobDeep: names of any depth can be stored and listed.
func TestGlobDeep(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("a.", 300), ".")
	for pattern, want := range map[string]bool{
		deep: true, strings.Repeat("?.", 299) + "{a,b}": true, strings.Repeat("a.", 299) + "b": false, deep + ".a": false,
		strings.Repeat("a.", 298) + "a": false, strings.Repeat("*.", 60) + "*": false, "**": true,
	} {
		g, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Match(deep); got != want {
			t.Errorf("%.20s… of %d elements matches: %v, want %v", pattern, strings.Count(pattern, ".")+1, got, want)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range [][2]string{{"a.*.b.{c,d}.e*", "a.x.b.c.ee"}, {"**.used", "mem.used"}, {"a.**", "a.b"}, {"[!a-c]?", "dd"}, {"{{a,b},c}", "b"}, {"[", "["}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := Compile(pattern)
		if err != nil {
			return
		}
		matched := g.Match(path)
		if !strings.ContainsAny(pattern, `*?[{\`) && matched != (path == strings.TrimSuffix(pattern, ".")) {
			t.Errorf("%q matches %q: %v", pattern, path, matched)
		}
		if !matched {
			return
		}
		// A range that the walk skips because of the pattern must not contain a match.
		for i, name := range strings.Split(path, ".") {
			if i == 0 && !covered(g.Ranges(g.Start()), name) {
				t.Errorf("ranges of %q leave out %q", pattern, name)
			}
		}
	})
}

func covered(ranges []Range, name string) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool { return name >= r.First && (r.End == "" || name < r.End) })
}

// FuzzGlobGrows repeats pieces of patterns up to and beyond the length that is refused.
func FuzzGlobGrows(f *testing.F) {
	for _, s := range [][3]string{
		{"[", "a", "]"}, {"{a,", "b", "}"}, {"{", "a,b", "}"}, {"*", "a", "*b"}, {"**.", "a", ".**"}, {"?", "*", "?"}, {"[!a-", "z", "]*"}, {"a.", "*", ".b"}, {"}", "{", ","},
	} {
		f.Add(s[0], s[1], s[2], uint(3))
		f.Add(s[0], s[1], s[2], uint(20_000))
		f.Add(s[0], s[1], s[2], uint(90_000))
	}
	f.Fuzz(func(t *testing.T, open, middle, shut string, n uint) {
		grow := func(s string) string { return strings.Repeat(s, min(int(n%100_000), 300_000/max(len(s), 1))) }
		begin := time.Now()
		if g, err := Compile(grow(open) + middle + grow(shut)); err == nil {
			g.Match(strings.Repeat("ab", 8000))
			g.Match(strings.Repeat("a.", 4000) + "b")
			g.Ranges(g.Start())
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Fatalf("%.50q, %.50q, %.50q × %d took %v", open, middle, shut, n, took)
		}
	})
}

func readLines[T any](t testing.TB, name string) []T {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Match reports whether a dotted path matches.
func (g *Pattern) Match(path string) bool {
	s := g.Start()
	for element := range strings.SplitSeq(path, ".") {
		if s = g.Step(s, element); s == 0 {
			return false
		}
	}
	return g.Done(s)
}

// The quoted path matches the path, and no other one unless it has braces or backslashes.
func TestQuote(t *testing.T) {
	for _, path := range []string{"a.b", "a*.b", "a?", "[a]", "a[b].c", "{a,b}", `a\b`, "]", "a!b-c", "[!a]"} {
		g, err := Compile(Quote(path))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !g.Match(path) {
			t.Errorf("%s does not match %s", Quote(path), path)
		}
		if g.Match("x"+path) || g.Match(path+"x") {
			t.Errorf("%s matches more than %s", Quote(path), path)
		}
	}
}
