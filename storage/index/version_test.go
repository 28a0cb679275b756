package index_test

import (
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// TestVersion: a version changes with the series of a metric, and tells which were added since.
func TestVersion(t *testing.T) {
	x := index.New(schema.DefaultLayout())
	add := func(metric, value byte) index.ID {
		id, _, err := x.Add([]byte{0, 0, metric, 0, 0, 1, 0, 0, value})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	since := func(what string, from storage.SeriesVersion, ok bool, want ...index.ID) {
		t.Helper()
		got, gotOK := x.Since("\x00\x00\x01", from, x.Version("\x00\x00\x01"))
		if gotOK != ok || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", what, got, gotOK)
		}
	}
	wholeSince := func(what string, from storage.SeriesVersion, ok bool, want ...index.ID) {
		t.Helper()
		got, gotOK := x.WholeSince(from, x.WholeVersion())
		if gotOK != ok || !slices.Equal(got, want) {
			t.Errorf("%s, of all metrics: %v, %v", what, got, gotOK)
		}
	}
	none, empty := x.Version("\x00\x00\x01"), x.WholeVersion()
	a := add(1, 1)
	one := x.Version("\x00\x00\x01")
	since("the first", none, true, a)
	wholeSince("the first", empty, true, a)
	whole := x.WholeVersion()
	other := add(2, 1)
	wholeSince("a series of another metric", whole, true, other)
	if x.Version("\x00\x00\x01") != one {
		t.Error("a series of another metric changes the version")
	}
	b, c := add(1, 2), add(1, 3)
	since("two more", one, true, b, c)
	wholeSince("two more", whole, true, other, b, c)
	since("nothing", x.Version("\x00\x00\x01"), true)
	x.Remove([]index.ID{b})
	since("one is gone", one, false)
	wholeSince("one is gone", whole, false)
	whole = x.WholeVersion()
	d := add(3, 1)
	wholeSince("one more after one was gone", whole, true, d)
	gone := x.Version("\x00\x00\x01")
	x.Remove([]index.ID{b})
	if x.Version("\x00\x00\x01") != gone {
		t.Error("what removes nothing changes the version")
	}
	x.Restore(b)
	since("it is back", gone, false)
	back := x.Version("\x00\x00\x01")
	x.Renamed()
	since("they have other names", back, false)
	if got := x.Version("odd"); got.Series != 0 {
		t.Errorf("an unknown metric has %d series", got.Series)
	}
}
