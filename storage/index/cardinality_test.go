package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// TestCardinality: the largest numbers are listed, as many as requested.
func TestCardinality(t *testing.T) {
	x := New(schema.DefaultLayout())
	for _, tsuid := range []string{
		"\x00\x00\x01\x00\x00\x01\x00\x00\x01", "\x00\x00\x01\x00\x00\x01\x00\x00\x02", "\x00\x00\x01\x00\x00\x01\x00\x00\x03",
		"\x00\x00\x02\x00\x00\x01\x00\x00\x01", "\x00\x00\x03\x00\x00\x01\x00\x00\x01\x00\x00\x02\x00\x00\x01",
	} {
		if _, _, err := x.Add([]byte(tsuid)); err != nil {
			t.Fatal(err)
		}
	}
	one, two := "\x00\x00\x01", "\x00\x00\x02"
	want := Cardinality{
		Series: 5, Metrics: 3, Tags: 4,
		SeriesByMetric: []Count{{Key: one, Count: 3}},
		ValuesByKey:    []Count{{Key: one, Count: 3}},
		BytesByKey:     []Count{{Key: one, Count: 3*bytesPerList + 5*bytesPerSeries}},
		SeriesByTag:    []Count{{Key: one, Value: one, Count: 3}},
	}
	if diff := cmp.Diff(want, x.Cardinality(1)); diff != "" {
		t.Error(diff)
	}
	if got := x.Cardinality(10); len(got.SeriesByMetric) != 3 || len(got.SeriesByTag) != 4 || got.ValuesByKey[1] != (Count{Key: two, Count: 1}) {
		t.Errorf("Cardinality(10) = %+v", got)
	}
	if got := x.Cardinality(0); len(got.SeriesByMetric) != 0 || got.Series != 5 {
		t.Errorf("Cardinality(0) = %+v", got)
	}
}
