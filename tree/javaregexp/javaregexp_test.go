package javaregexp

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A recording is a regular expression and what Java 17 made of it (testdata/RecordRegexps.java).
type recording struct {
	Pattern string
	Values  []string
	Error   string
	Groups  [][]*string // of the first match; nil without one
	Pieces  [][]string  // of String.split
}

func readRecordings(t testing.TB) []recording {
	t.Helper()
	file, err := os.Open("testdata/regexps.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []recording
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one recording
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

// unsupported are words of the errors about what RE2 cannot do. Java must refuse everything else
// that is refused.
var unsupported = []string{
	"not supported", "bad repetition", "invalid nested repetition", "repeats nothing",
}

// An expression that Java accepts means the same here or is refused with a reason; what Java
// refuses is refused.
func TestAgainstJava(t *testing.T) {
	taken := 0
	for _, r := range readRecordings(t) {
		re, err := Compile(r.Pattern)
		switch {
		case r.Error != "" && err == nil:
			t.Errorf("%q: Java says %q, we take it for %s", r.Pattern, r.Error, re)
			continue
		case r.Error != "":
			continue
		case err != nil:
			if !slices.ContainsFunc(unsupported, func(word string) bool { return strings.Contains(err.Error(), word) }) {
				t.Errorf("%q: %v; Java takes it", r.Pattern, err)
			}
			continue
		}
		taken++
		for i, value := range r.Values {
			if beyondASCII(value) && strings.Contains(strings.ToLower(r.Pattern), `\b`) {
				continue // word boundaries differ, see Compile
			}
			if diff := cmp.Diff(textOf(r.Groups[i]), re.FindStringSubmatch(value)); diff != "" {
				t.Errorf("%q as %s in %q (-Java +ours):\n%s", r.Pattern, re, value, diff)
			}
		}
		checkSplits(t, r)
	}
	if taken < 100 {
		t.Errorf("only %d patterns taken", taken)
	}
}

// textOf returns the text of groups. A rule treats an empty group as absent.
func textOf(groups []*string) []string {
	var texts []string
	for _, g := range groups {
		if g == nil {
			g = new(string)
		}
		texts = append(texts, *g)
	}
	return texts
}

func checkSplits(t *testing.T, r recording) {
	t.Helper()
	s, err := CompileSeparator(r.Pattern)
	if err != nil {
		if !strings.Contains(err.Error(), "not supported") {
			t.Errorf("separator %q: %v", r.Pattern, err)
		}
		return
	}
	for i, value := range r.Values {
		if beyondASCII(value) && strings.Contains(strings.ToLower(r.Pattern), `\b`) {
			continue
		}
		if got := s.Split(value); !slices.Equal(got, r.Pieces[i]) {
			t.Errorf("split %q by %q = %q, Java %q", value, r.Pattern, got, r.Pieces[i])
		}
	}
}

func beyondASCII(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

func FuzzCompile(f *testing.F) {
	for _, r := range readRecordings(f) {
		f.Add(r.Pattern, "web-01.lga.mysite.com")
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		s, err := CompileSeparator(pattern)
		if err != nil || value == "" {
			return
		}
		pieces := s.Split(value)
		if n := len(pieces); n > 0 && pieces[n-1] == "" {
			t.Errorf("split %q by %q ends with an empty piece: %q", value, pattern, pieces)
		}
		if s.re.FindStringIndex(value) == nil && !slices.Equal(pieces, []string{value}) {
			t.Errorf("split %q by %q, which does not match: %q", value, pattern, pieces)
		}
	})
}
