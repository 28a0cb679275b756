package tablecopy

import (
	"slices"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// What a follower that has gone would ask about is kept for a time.
func TestWatchForgets(t *testing.T) {
	w := NewWatch(Store{Store: promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))}, time.Now)
	first, err := w.Changes(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := w.Changes(t.Context(), first.Moment); err != nil || c.Forgotten {
		t.Fatalf("%+v, %v", c, err)
	}
	w.keptFor = time.Millisecond
	last, err := w.Changes(t.Context(), first.Moment) // both get their time anew
	if err != nil || last.Forgotten {
		t.Fatalf("%+v, %v", last, err)
	}
	deadline := time.Now().Add(time.Minute)
	left := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.kept)
	}
	for ; left() > 1; time.Sleep(time.Millisecond) { // polling, with a deadline: the second one stays
		if time.Now().After(deadline) {
			t.Fatalf("%d moments are kept", left())
		}
	}
	if c, err := w.Changes(t.Context(), last.Moment); err != nil || !c.Forgotten {
		t.Errorf("%+v, %v", c, err)
	}
}

// On shared tables, whose rows tell nothing of a rename, all points are copied again after one, and once.
func TestWatchRename(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	now := time.UnixMilli(1_700_000_000_000)
	w := NewWatch(Store{Store: store, Shared: true}, func() time.Time { return now })
	if _, errs := store.Resolve(t.Context(), []storage.Series{{Metric: "m", Tags: []storage.Tag{{Key: "k", Value: "v"}}}}); errs != nil {
		t.Fatal(errs)
	}
	moment := ""
	changes := func() Changes {
		c, err := w.Changes(t.Context(), moment)
		if err != nil {
			t.Fatal(err)
		}
		moment, now = c.Moment, now.Add(time.Hour)
		return c
	}
	changes()
	if err := store.Rename(t.Context(), storage.MetricName, "m", "n"); err != nil {
		t.Fatal(err)
	}
	want := []Span{{"", 0, storage.MaxTime}}
	if c := changes(); !slices.Equal(c.Spans, want) || !slices.Equal(c.Deleted, want) {
		t.Errorf("after a rename: %+v", c)
	}
	changes() // the margin
	if c := changes(); len(c.Spans)+len(c.Deleted) > 0 {
		t.Errorf("later: %+v", c)
	}
}
