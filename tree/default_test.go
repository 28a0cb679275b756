package tree

import (
	"slices"
	"strings"
	"testing"
)

func TestElementsOf(t *testing.T) {
	for _, metric := range []string{"", ".", "...", "a", ".a", "a.", "a.b", "a..b", "..a.b.", "a.\xff.é", "ab.cd.ef"} {
		want := strings.FieldsFunc(metric, func(r rune) bool { return r == '.' })
		if got := elementsOf(metric); !slices.Equal(got, want) {
			t.Errorf("elementsOf(%q) = %q, want %q", metric, got, want)
		}
	}
}
