package translate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Any stored series is shown as a label set that loses no tag, and no filter hides it from the
// matchers that it satisfies.
func FuzzForeign(f *testing.F) {
	addSeeds(f, 1500)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &source{data}
		tr := in.translator(t)
		s := in.series(tr)
		ls := tr.ToLabels(s)
		checkShown(t, tr, s, ls)
		checkFilters(t, in, tr, s)
	})
}

func checkFilters(t *testing.T, in *source, tr *Translator, s storage.Series) {
	t.Helper()
	ls := tr.ToLabels(s)
	for range 4 {
		m := in.matcher(s, ls)
		if m == nil {
			continue
		}
		filters := tr.Filters([]*labels.Matcher{m})
		if m.Matches(get(ls, m.Name)) && !passesAll(filters, s) {
			t.Errorf("%v satisfies %v, but %q does not pass\n%s", ls, m, s, showFilters(filters))
		}
	}
	for range 4 {
		c := in.condition(s, ls)
		filters := tr.ConditionFilters([]Condition{c})
		if c.accepted().matches(get(ls, c.Label)) && !passesAll(filters, s) {
			t.Errorf("%v satisfies %v, but %q does not pass\n%s", ls, c, s, showFilters(filters))
		}
	}
}

func checkShown(t *testing.T, tr *Translator, s storage.Series, ls labels.Labels) {
	t.Helper()
	last := ""
	ls.Range(func(l labels.Label) {
		if l.Value == "" || l.Name <= last && last != "" {
			t.Errorf("ToLabels(%q) = %v: unsorted, twice or empty", s, ls)
		}
		last = l.Name
	})
	if cmp.Equal(tr.FromLabels(ls), s) {
		return // ours: tested elsewhere
	}
	want := len(s.Tags)
	if s.Metric != noMetric {
		want++
	}
	if ls.Len() != want {
		t.Errorf("ToLabels(%q) = %v: %d labels, want %d", s, ls, ls.Len(), want)
	}
}

// In one mode and without packed labels, filters are exact: they match the same series as the
// matchers.
func FuzzSharp(f *testing.F) {
	addSeeds(f, 600)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &source{data}
		tr := &Translator{limits: storedLimits}
		ls := in.labelSet()
		if get(ls, "") == "" { // else it is packed
			checkSharp(t, in, tr, tr.FromLabels(ls))
		}
	})
}

func checkSharp(t *testing.T, in *source, tr *Translator, s storage.Series) {
	t.Helper()
	ls := tr.ToLabels(s)
	for range 4 {
		m := in.matcher(s, ls)
		if m == nil {
			continue
		}
		filters := tr.Filters([]*labels.Matcher{m})
		if len(filters) == 1 && hasAny(s, filters[0].Or) {
			continue // the only exception
		}
		if got, want := passesAll(filters, s), m.Matches(get(ls, m.Name)); got != want {
			t.Errorf("%v, %v: %q passes %t, want %t\n%s", m, ls, s, got, want, showFilters(filters))
		}
	}
	for range 4 {
		c := in.condition(s, ls)
		filters := tr.ConditionFilters([]Condition{c})
		if len(filters) == 1 && hasAny(s, filters[0].Or) {
			continue
		}
		if got, want := passesAll(filters, s), c.accepted().matches(get(ls, c.Label)); got != want {
			t.Errorf("%v, %v: %q passes %t, want %t\n%s", c, ls, s, got, want, showFilters(filters))
		}
	}
}

func passesAll(filters []storage.Filter, s storage.Series) bool {
	for _, f := range filters {
		if !passes(f, s) {
			return false
		}
	}
	return true
}

// passes implements the contract of storage.Filter literally.
func passes(f storage.Filter, s storage.Series) bool {
	allowed := func(value string) bool {
		if f.Values != nil {
			return contains(f.Values, value)
		}
		return f.Match == nil || f.Match(value)
	}
	if f.Keys == nil {
		return allowed(s.Metric)
	}
	if hasAny(s, f.Or) {
		return true
	}
	for _, tag := range s.Tags {
		if contains(f.Keys, tag.Key) && allowed(tag.Value) {
			return true
		}
	}
	return f.Absent && !hasAny(s, f.Keys)
}

func hasAny(s storage.Series, keys []string) bool {
	for _, tag := range s.Tags {
		if contains(keys, tag.Key) {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

// get is Labels.Get for sets with an empty label name, which that one does not expect.
func get(ls labels.Labels, name string) (value string) {
	ls.Range(func(l labels.Label) {
		if l.Name == name {
			value = l.Value
		}
	})
	return value
}
