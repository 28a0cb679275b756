package graphite

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/translate"
)

// The label of a tag, both ways.
func TestTagLabel(t *testing.T) {
	for label, tag := range map[string]string{
		"__name__": "name", "name": "%6Eame", "job": "job", "a;b": "a%3Bb", "a=b": "a%3Db", "a!^b": "a%21%5Eb",
		"a%41": "a%41", "100%": "100%", "http.method": "http.method", "ж": "ж", "~x": "~x",
	} {
		if got := labelTag(label); got != tag {
			t.Errorf("labelTag(%q) = %q, want %q", label, got, tag)
		}
		if got := tagLabel(tag); got != label {
			t.Errorf("tagLabel(%q) = %q, want %q", tag, got, label)
		}
	}
}

func TestTagSpecGivenUp(t *testing.T) {
	specs, err := parseTagSpecs(t.Context(), []string{"a=~(x+x+)+y", "b!=c"})
	if err != nil {
		t.Fatal(err)
	}
	ls := labels.FromStrings("__name__", "m", "a", strings.Repeat("x", 60))
	if matchAll(specs, ls) {
		t.Error("a text matches that does not")
	}
	if err := specsError(specs); err == nil || statusOf(err) != 400 {
		t.Errorf("a regular expression that was given up: %v", err)
	}
}

// A spec accepts whatever its prefilter has to let pass.
func FuzzTagSpec(f *testing.F) {
	for _, seed := range [][2]string{
		{"a=b", "a=b"}, {"a!=", "a=~x"}, {"name=~^m|n", "b!=~c"}, {"%6Eame=x", "name=m"}, {"a=~(", "a=b"}, {"a", "b"}, {"a=;", "~=x"}, {"a=b\n", "a=~b$"},
	} {
		f.Add(seed[0], seed[1], "m", "a", "b")
	}
	names, err := translate.New()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, one, two, name, label, value string) {
		if len(one)+len(two) > 60 || len(value) > 60 {
			return
		}
		specs, err := parseTagSpecs(t.Context(), []string{one, two})
		if err != nil {
			return
		}
		ls := labels.FromMap(map[string]string{"__name__": name, label: value}).WithoutEmpty()
		if !matchAll(specs, ls) || ls.IsEmpty() {
			return
		}
		series := names.FromLabels(ls)
		for _, filter := range filters(names, specs) {
			if !passes(filter, series) {
				t.Errorf("%q of %q and %q: the filter %+v is in the way of %v", ls, one, two, filter, series)
			}
		}
	})
}
