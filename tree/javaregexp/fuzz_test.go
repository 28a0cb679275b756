package javaregexp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// slow is far beyond what the limits allow, also on a machine that does other things.
const slow = 10 * time.Second

func FuzzCompile(f *testing.F) {
	for _, r := range readRecordings(f) {
		f.Add(r.Pattern, "web-01.lga.mysite.com")
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		s, err := CompileSeparator(pattern)
		if err != nil || value == "" {
			return
		}
		pieces, err := s.Split(value, nil)
		if err != nil {
			return // it takes too many steps
		}
		if n := len(pieces); n > 0 && pieces[n-1] == "" {
			t.Errorf("split %q by %q ends with an empty piece: %q", value, pattern, pieces)
		}
		if ok, err := s.exact.Match(value, nil); err == nil && !ok && !slices.Equal(pieces, []string{value}) {
			t.Errorf("split %q by %q, which does not match: %q", value, pattern, pieces)
		}
	})
}

// FuzzMatch: any pattern compiles or is refused, and a match ends within its steps; both engines
// agree where both can run a pattern.
func FuzzMatch(f *testing.F) {
	for _, r := range readRecordings(f) {
		f.Add(r.Pattern, "web-01.lga.aab\r\n", uint(1))
		f.Add(r.Pattern, "aab", uint(2000))
	}
	f.Fuzz(func(t *testing.T, pattern, value string, n uint) {
		begin := time.Now()
		value = strings.Repeat(value, min(int(n%5000), 100_000/max(len(value), 1)))
		re, err := Compile(pattern)
		if err != nil {
			return
		}
		steps := backtrack.NewSteps(100_000, nil)
		ok, err := re.Match(value, steps)
		if err != nil && !errors.Is(err, ErrTooExpensive) {
			t.Fatalf("%q in %.50q: %v", pattern, value, err)
		}
		if err == nil {
			checkEngines(t, re, pattern, value, ok)
		}
		if took := time.Since(begin); took > slow {
			t.Fatalf("%q in %.50q × %d took %v", pattern, value, n, took)
		}
	})
}

// checkEngines holds the engine that goes back against the linear one.
func checkEngines(t *testing.T, re *Regexp, pattern, value string, want bool) {
	t.Helper()
	slow := *re
	slow.linear = nil
	if ok, err := slow.Match(value, nil); err == nil && ok != want {
		t.Fatalf("%q in %.50q: %v, by going back %v", pattern, value, want, ok)
	}
	places, err := re.Find(value, nil)
	other, slowErr := slow.Find(value, nil)
	if err == nil && slowErr == nil && !slices.Equal(places, other) {
		t.Fatalf("%q in %.50q: %v, by going back %v", pattern, value, places, other)
	}
}

// Random patterns that both engines can run mean the same to both.
func TestEnginesAgree(t *testing.T) {
	atoms := []string{"a", "b", ".", "[ab]", "[^a]", `\w`, `\b`, `\B`, "^", "$", `\Z`, "x", "(?i:B)", "é", `\p{L}`, "", "ab|a", "a|", "|b", "a*|b"}
	quantifiers := []string{"", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"}
	r := rand.New(rand.NewPCG(1, 31))
	var pattern func(depth int) string
	pattern = func(depth int) string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			atom := atoms[r.IntN(len(atoms))]
			if strings.Contains(atom, "|") || atom == "" || depth < 3 && r.IntN(4) == 0 {
				if depth < 3 {
					atom += pattern(depth + 1)
				}
				atom = []string{"(", "(?:"}[r.IntN(2)] + atom + ")"
			}
			b.WriteString(atom + quantifiers[r.IntN(len(quantifiers))])
		}
		return b.String()
	}
	both := 0
	for range 3000 {
		p := pattern(0)
		re, err := Compile(p)
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		if re.Backtracks() {
			continue
		}
		for _, value := range []string{"", "a", "ab", "baab", "aXbb", "éab", "ab\n", "b\r\n"} {
			ok, err := re.Match(value, nil)
			if err != nil {
				continue
			}
			both++
			checkEngines(t, re, p, value, ok)
		}
	}
	if both < 15_000 {
		t.Errorf("only %d comparisons", both)
	}
}

// Hostile patterns are refused or end within their steps.
func TestHostile(t *testing.T) {
	many := strings.Repeat
	for _, c := range []struct {
		pattern, text string
		refused       bool
		expensive     bool
	}{
		{`^(?!x)(a+)+$`, many("a", 5000) + "!", false, true},
		{`(?!x)(?:a|aa)+$`, many("a", 5000) + "!", false, true},
		{`(a*)*\1b`, many("a", 5000), false, true},
		{`(?=(a+))\1{1,1000000}b`, many("a", 100_000), false, true},
		{`(?:){1,1000000}(?!a)`, "", false, false},
		{`(?:(?!b)){1000000}(?:(?!b)){1000000}`, "", false, true},
		{`(?!b)((((a{1,1000000}){1,1000000}){1,1000000}){1,1000000})c`, many("a", 1000), false, true},
		{`(?<=a{0,1000000})b`, many("a", 100_000), false, true},
		{`(?<=` + many("a{999999}", 2000) + `)b`, many("b", 100_000), false, true},
		{many("(", 1000) + many(")", 1000), "", true, false},
		{many("(?=", 1000) + many(")", 1000), "", true, false},
		{many("[", 1000) + "a" + many("]", 1000), "", true, false},
		{many("(?=", 190) + "a" + many(")", 190), "a", false, false},
		{many("(?<=", 190) + "a" + many(")", 190), "a", false, false},
		{many("(?!b)a?", 4000) + "x", many("a", 2000), false, true},
		{many("(?:(?=a)|b)*", 2500) + "x", many("a", 2000), false, true},
		{"[" + many("a-c&&", 6000) + "a]", "a", true, false},
		{"[" + many("[a-c]", 6000) + "](?=b)", "ab", false, false},
		{"(?iu)[" + many("é", 15_000) + "](?=b)", "Éb", false, false},
		{"(?!a)" + many(`\B`, 10_000), many("a\u0301", 20_000), false, false},
	} {
		begin := time.Now()
		re, err := Compile(c.pattern)
		if (err != nil) != c.refused {
			t.Errorf("%.40q...: %v", c.pattern, err)
		}
		if err == nil {
			_, err = re.Match(c.text, nil)
			if errors.Is(err, ErrTooExpensive) != c.expensive {
				t.Errorf("%.40q... in %.20q...: %v, want too expensive: %v", c.pattern, c.text, err, c.expensive)
			}
		}
		if took := time.Since(begin); took > slow {
			t.Errorf("%.40q... took %v", c.pattern, took)
		}
	}
}
