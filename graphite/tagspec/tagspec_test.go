package tagspec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// A tag is translated to its label and back.
func TestTagLabel(t *testing.T) {
	for label, tag := range map[string]string{
		"__name__": "name", "name": "%6Eame", "job": "job", "a;b": "a%3Bb", "a=b": "a%3Db", "a!^b": "a%21%5Eb",
		"a%41": "a%41", "100%": "100%", "http.method": "http.method", "ж": "ж", "~x": "~x",
	} {
		if got := Tag(label); got != tag {
			t.Errorf("Tag(%q) = %q, want %q", label, got, tag)
		}
		if got := Label(tag); got != label {
			t.Errorf("Label(%q) = %q, want %q", tag, got, label)
		}
	}
}

func TestTagSpecCancelled(t *testing.T) {
	specs, err := Parse(t.Context(), []string{"a=~(x+x+)+y", "b!=c"})
	if err != nil {
		t.Fatal(err)
	}
	ls := labels.FromStrings("__name__", "m", "a", strings.Repeat("x", 60))
	if specs.Match(ls) {
		t.Error("a text matches that does not")
	}
	if _, ok := errors.AsType[*python.InputError](specs.Err()); !ok {
		t.Errorf("a regular expression that was given up: %v", specs.Err())
	}
}

// A series that a spec accepts passes the spec's prefilter.
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
		specs, err := Parse(t.Context(), []string{one, two})
		if err != nil {
			return
		}
		ls := labels.FromMap(map[string]string{"__name__": name, label: value}).WithoutEmpty()
		if !specs.Match(ls) || ls.IsEmpty() {
			return
		}
		series := names.FromLabels(ls)
		for _, filter := range specs.Filters(names) {
			if !passes(filter, series) {
				t.Errorf("%q of %q and %q: the filter %+v is in the way of %v", ls, one, two, filter, series)
			}
		}
	})
}

// passes reports whether a series passes a filter, as storage.Filter defines it.
func passes(f storage.Filter, s storage.Series) bool {
	accepts := func(v string) bool {
		if f.Values != nil {
			return slices.Contains(f.Values, v)
		}
		return f.Match == nil || f.Match(v)
	}
	if f.Keys == nil {
		return accepts(s.Metric)
	}
	absent := true
	for _, tag := range s.Tags {
		if slices.Contains(f.Or, tag.Key) {
			return true
		}
		if slices.Contains(f.Keys, tag.Key) {
			if absent = false; accepts(tag.Value) {
				return true
			}
		}
	}
	return absent && f.Absent
}
