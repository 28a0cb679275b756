package uid_test

import (
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// TestSuggest lists names by prefixes, an empty one too.
func TestSuggest(t *testing.T) {
	d := open(newTable())
	names := []string{"a", "ab", "b", "ÿ", "ÿa"}
	if _, errs := d.Assign(t.Context(), storage.TagKeyName, names); errs != nil {
		t.Fatal(errs)
	}
	if _, errs := d.Assign(t.Context(), storage.TagValueName, []string{"abc"}); errs != nil {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		prefix string
		most   int
		want   []string
	}{
		{"", 10, names},
		{"", 2, []string{"a", "ab"}},
		{"a", 10, []string{"a", "ab"}},
		{"ÿ", 10, []string{"ÿ", "ÿa"}},
		{"ÿa", 1, []string{"ÿa"}},
		{"z", 10, nil},
		{"日", 10, nil},
	} {
		got, err := d.Suggest(t.Context(), storage.TagKeyName, c.prefix, c.most)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q, at most %d: %q, %v, want %q", c.prefix, c.most, got, err, c.want)
		}
	}
}
