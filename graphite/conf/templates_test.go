package conf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGraphTemplates reads a file of graphite-web.
func TestGraphTemplates(t *testing.T) {
	got, err := ParseGraphTemplates("graphTemplates.conf", "# looks\n[default]\nlineColors = blue, #ff0000\nfontBold = False\n\n[dark]\nbackground = black\n")
	want := map[string]map[string]string{"default": {"linecolors": "blue, #ff0000", "fontbold": "False"}, "dark": {"background": "black"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := ParseGraphTemplates("graphTemplates.conf", "background = black\n"); err == nil {
		t.Error("an option before any section is read")
	}
}
