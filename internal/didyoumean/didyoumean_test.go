package didyoumean

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	names := []string{"alias", "aliasSub", "sumSeries", "sum", "summarize", "scale"}
	for word, want := range map[string][]string{
		"sumserie":                  {"sumSeries"},
		"SUMSERIES":                 {"sumSeries"},
		"usmSeries":                 {"sumSeries"},
		"su":                        {"sum"},
		"scale":                     {"scale"},
		"sumarise":                  {"summarize"},
		"nothing":                   {},
		"":                          {},
		strings.Repeat("x", 100000): {},
	} {
		if diff := cmp.Diff(want, Names(word, names, 2)); diff != "" {
			t.Errorf("Names(%.20q): %s", word, diff)
		}
	}
	if got := Names("sumX", []string{"sumA", "sumB", "sumC", "sumX"}, 2); cmp.Diff([]string{"sumX", "sumA"}, got) != "" {
		t.Errorf("the nearest are %v", got)
	}
}

func TestQuestion(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "did you mean a?": {"a"}, "did you mean a or b?": {"a", "b"}} {
		if got := Question(names); got != want {
			t.Errorf("Question(%v) = %q", names, got)
		}
	}
}
