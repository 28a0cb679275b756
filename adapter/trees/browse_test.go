package trees

import (
	"encoding/json"
	"testing"

	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A text that is searched for is a part of a name, or a pattern; the path before it is taken as it is.
func TestBrowsePattern(t *testing.T) {
	for _, test := range []struct {
		path, search string
		deep         bool
		want         string
	}{
		{"", "", false, "*"},
		{"a.b", "", false, "a.b.*"},
		{"a", "cpu", false, "a.*cpu*"},
		{"", "cpu", true, "**.*cpu*"},
		{"a", "c?u", true, "a.**.c?u"},
		{"a*[b]{c}", "", false, "a[*][[]b]?c?.*"},
	} {
		if got := browsePattern(test.path, test.search, test.deep); got != test.want {
			t.Errorf("browsePattern(%q, %q, %t) = %q, want %q", test.path, test.search, test.deep, got, test.want)
		}
	}
}

// The answer is cut at the limit, and tells so.
func TestNewBrowsed(t *testing.T) {
	nodes := []forest.Node{{Path: "a", Branch: true}, {Path: "b", Series: [][]byte{{1}, {2}}, Trees: []uint16{1, 1}}, {Path: "c"}}
	text, err := json.Marshal(newBrowsed(nodes, 2))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"nodes":[{"path":"a","branch":true,"series":0,"trees":[]},{"path":"b","branch":false,"series":2,"trees":[1,1]}],"more":true}`
	if string(text) != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}
