package pyregexp

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// slow is far beyond what the limits of one pattern and text allow, also on a machine that does
// other things.
const slow = 10 * time.Second

// TestAgainstPython reads pattern, replacement and text, each a quoted line.
func TestAgainstPython(t *testing.T) {
	for _, file := range []string{"testdata/regexp", "testdata/regexp_random"} {
		datadriven.RunTest(t, file, regexpCase)
	}
}

func regexpCase(t *testing.T, d *datadriven.TestData) string {
	var in [3]string
	for i, line := range strings.Split(d.Input, "\n") {
		s, err := strconv.Unquote(line)
		if err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		in[i] = s
	}
	re, err := Compile(in[0])
	if err != nil {
		return "error\n"
	}
	out := "not found\n"
	if ok, err := re.Search(in[2]); err != nil {
		d.Fatalf(t, "%v", err)
	} else if ok {
		out = "found\n"
	}
	s, err := re.Sub(in[1], in[2])
	if err != nil {
		return out + "error\n"
	}
	return out + jsonQuote(s) + "\n"
}

// jsonQuote quotes as the recording did.
func jsonQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// TestRegexpIsBounded tries patterns that grow in every way. None may take long, whatever its
// result.
func TestRegexpIsBounded(t *testing.T) {
	many := strings.Repeat
	for _, c := range []struct {
		name, pattern, text string
		refused             string // of the error of compiling
		expensive           bool   // to match
	}{
		{"brackets", many("(", 250_000), "", "more than 65536 characters", false},
		{"brackets within the length", many("(", MaxPattern), "", "nested deeper than 200", false},
		{"other brackets", many("(?:", 300) + many(")", 300), "", "nested deeper than 200", false},
		{"look-around", many("(?=", 300) + many(")", 300), "", "nested deeper than 200", false},
		{"look-behind", many("(?<!", 300) + many(")", 300), "", "nested deeper than 200", false},
		{"conditions", many("(?(1)", 300) + many(")", 300), "", "nested deeper than 200", false},
		{"as deep as may be", many("(", maxNesting-1) + "a" + many(")", maxNesting-1), many("a", 1000), "", false},
		{"sets", many("[", MaxPattern), "", "unterminated character set", false},
		{"braces", many("{", MaxPattern), "{", "", false},
		{"names", many("(?P<", MaxPattern/4), "", "unterminated name", false},
		{"a wide set", "[" + many("abcdef", 10_000) + "]*x", many("a", 1_000_000), "", true},
		{"a set of classes", "[" + many(`\W`, 30_000) + "]*x", many(".", 1_000_000), "", true},
		{"many groups", many("()", 30_000) + "x", many("a", 1_000_000), "", true},
		{"many alternatives", many("a|", 30_000) + "x", many("b", 1_000_000), "", true},
		{"many stars", many("a*", 30_000) + "x", many("a", 1_000_000), "", true},
		{"two ways for each character", "(a|aa)+$", many("a", 1_000_000), "", true},
		{"stars of stars", "(a*)*(a*)*(a*)*b", many("a", 5000), "", true},
		{"counts of counts", "((((a{0,99999999}){0,99999999}){0,99999999}){0,99999999})b", many("a", 1000), "", true},
		{"rounds of nothing", "(){99999999}", "", "", true},
		{"references", `(a+)(?=\1\1\1\1b)`, many("a", 1_000_000), "", true},
		{"look-ahead in stars", "(?:(?=(a*))a)*b", many("a", 100_000), "", true},
		{"far behind", "(?<=" + many("a{9999999}", 5000) + ")b", many("b", 1_000_000), "", true},
		{"a start that is not there", "^b" + many("a?", 5000), many("a", 1_000_000), "", false},
	} {
		begin := time.Now()
		re, err := Compile(c.pattern)
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: Compile = %v, want an error with %q", c.name, err, c.refused)
			}
		case err != nil:
			t.Errorf("%s: Compile = %v", c.name, err)
		default:
			_, err := re.Search(c.text)
			if errors.Is(err, ErrTooExpensive) != c.expensive {
				t.Errorf("%s: Search = %v, want ErrTooExpensive: %v", c.name, err, c.expensive)
			}
			if _, err := re.Match(c.text); err != nil && !errors.Is(err, ErrTooExpensive) {
				t.Errorf("%s: Match = %v", c.name, err)
			}
		}
		if took := time.Since(begin); took > slow {
			t.Errorf("%s took %v", c.name, took)
		}
	}
}

// TestSubIsBounded: a replacement may lengthen a text, but only up to a limit.
func TestSubIsBounded(t *testing.T) {
	re, err := Compile("(.+)")
	if err != nil {
		t.Fatal(err)
	}
	text := "a"
	for range 40 {
		if text, err = re.Sub(`\1\1`, text); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrTooExpensive) {
		t.Errorf("doubling a text 40 times: %d bytes, %v", len(text), err)
	}
	each, err := Compile("a")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := each.Sub(strings.Repeat("b", 1_000_000), strings.Repeat("a", 100_000)); !errors.Is(err, ErrTooExpensive) {
		t.Errorf("replacing 100,000 letters by a million each: %d bytes, %v", len(got), err)
	}
	if got, err := re.Sub(strings.Repeat(`\1`, 100_000), strings.Repeat("a", 100_000)); !errors.Is(err, ErrTooExpensive) {
		t.Errorf("100,000 references: %d bytes, %v", len(got), err)
	}
}

// FuzzRegexpGrows repeats pieces of patterns and texts up to hundreds of kilobytes.
func FuzzRegexpGrows(f *testing.F) {
	for _, s := range [][4]string{
		{"(", "a", ")*", "a"},
		{"(?:", "a|aa", ")+", "a"},
		{"(?=", "a*", ")", "ab"},
		{"[", "^a", "]", "b"},
		{"a{0,", "9", "}", "a"},
		{"(?(1)", "a|b", ")", "a"},
		{"(a)", `\1`, "?", "a"},
		{"(?>a*|", "b", ")++", "aab"},
		{"a*", "$", "b|", "a"},
		{"(?<!", "ab", ")*?", "ж"},
	} {
		f.Add(s[0], s[1], s[2], s[3], uint(3), uint(50))
		f.Add(s[0], s[1], s[2], s[3], uint(60_000), uint(300_000))
	}
	f.Fuzz(func(t *testing.T, open, middle, shut, text string, n, m uint) {
		grow := func(s string, n uint) string { return strings.Repeat(s, min(int(n%100_000), 300_000/max(len(s), 1))) }
		begin := time.Now()
		if re, err := Compile(grow(open, n) + middle + grow(shut, n)); err == nil {
			text = strings.Repeat(text, min(int(m), 500_000/max(len(text), 1)))
			_, _ = re.Search(text)
			_, _ = re.Sub(`<\g<0>>`, text)
		}
		if took := time.Since(begin); took > slow {
			t.Fatalf("%.50q, %.50q, %.50q × %d, %.50q × %d took %v", open, middle, shut, n, text, m, took)
		}
	})
}

// FuzzRegexp checks that replacing matches by themselves changes nothing, for any pattern.
func FuzzRegexp(f *testing.F) {
	for _, s := range []string{"(.*)", "a|b", "(?<=a)b+?", "[^a-c]{1,3}", "(?P<x>a)(?P=x)", "x*", "(?i)\\bA", "(a)?(?(1)b|c)"} {
		f.Add(s, "test.h1.aab")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := Compile(pattern)
		if err != nil || len(text) > 200 {
			return
		}
		got, err := re.Sub(`\g<0>`, text)
		if err == nil && got != text {
			t.Fatalf("%q: replacing matches by themselves turns %q into %q", pattern, text, got)
		}
	})
}
