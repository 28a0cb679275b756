package javaregexp

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
)

// A recording is a regular expression and what Java 17 made of it (testdata/RecordRegexps.java and
// RecordMore.java).
type recording struct {
	Pattern string
	Values  []string
	Error   string
	Groups  [][]*string // of the first match; nil without one
	Pieces  [][]string  // of String.split
}

func readRecordings(t testing.TB) []recording {
	t.Helper()
	return append(readFile(t, "testdata/regexps.jsonl"), readFile(t, "testdata/more.jsonl")...)
}

func readFile(t testing.TB, name string) (all []recording) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
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

// unsupported is in the errors about what we refuse though Java does not. Java must refuse everything
// else that is refused.
const unsupported = "not supported"

// An expression that Java accepts means the same here or is refused with a reason; what Java
// refuses is refused.
func TestAgainstJava(t *testing.T) {
	taken := 0
	for _, r := range readRecordings(t) {
		re, err := Compile(r.Pattern)
		switch {
		case r.Error != "" && err == nil:
			t.Errorf("%q: Java says %q, we take it", r.Pattern, r.Error)
			continue
		case r.Error != "":
			continue
		case err != nil:
			if !strings.Contains(err.Error(), unsupported) {
				t.Errorf("%q: %v; Java takes it", r.Pattern, err)
			}
			continue
		}
		taken++
		for i, value := range r.Values {
			checkFind(t, re, r.Pattern, value, r.Groups[i])
		}
		checkSplits(t, r)
	}
	if taken < 1400 {
		t.Errorf("only %d patterns taken", taken)
	}
}

// checkFind compares the first match with Java's, and the engines with each other.
func checkFind(t *testing.T, re *Regexp, pattern, value string, want []*string) {
	t.Helper()
	places, err := re.Find(value, nil)
	if err != nil {
		t.Errorf("%q in %q: %v", pattern, value, err)
		return
	}
	if diff := cmp.Diff(want, textOf(value, places)); diff != "" {
		t.Errorf("%q in %q, linear %v (-Java +ours):\n%s", pattern, value, !re.Backtracks(), diff)
	}
	if ok, err := re.Match(value, nil); ok != (want != nil) || err != nil {
		t.Errorf("%q in %q: Match = %v, %v", pattern, value, ok, err)
	}
	slow := *re
	slow.linear = nil
	if places, err = slow.Find(value, nil); err != nil {
		t.Errorf("%q in %q by going back: %v", pattern, value, err)
	} else if diff := cmp.Diff(want, textOf(value, places)); diff != "" {
		t.Errorf("%q in %q by going back (-Java +ours):\n%s", pattern, value, diff)
	}
}

// textOf returns the text of groups.
func textOf(value string, places []int) []*string {
	var texts []*string
	for i := 0; i < len(places); i += 2 {
		var text *string
		if places[i] >= 0 {
			s := value[places[i]:places[i+1]]
			text = &s
		}
		texts = append(texts, text)
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
		if strings.Contains(value, "😀") {
			continue // Java cuts a surrogate pair in two
		}
		if got, err := s.Split(value, nil); err != nil || !slices.Equal(got, r.Pieces[i]) {
			t.Errorf("split %q by %q = %q, %v, Java %q", value, r.Pattern, got, err, r.Pieces[i])
		}
	}
}

// A separator that takes more steps than are allowed splits nothing, and one that follows the last match
// is refused.
func TestRefusedSeparators(t *testing.T) {
	s, err := CompileSeparator(`(?=(?:a+)+b)-`)
	if err != nil {
		t.Fatal(err)
	}
	if pieces, err := s.Split(strings.Repeat("a", 5000), backtrack.NewSteps(20_000, nil)); !errors.Is(err, ErrTooExpensive) || pieces != nil {
		t.Errorf("%q, %v", pieces, err)
	}
	if pieces, err := s.Split("a-b", backtrack.NewSteps(20_000, nil)); err != nil || !slices.Equal(pieces, []string{"a-b"}) {
		t.Errorf("%q, %v", pieces, err)
	}
	if _, err := CompileSeparator(`\G-`); err == nil || !strings.Contains(err.Error(), unsupported) {
		t.Error(err)
	}
}
