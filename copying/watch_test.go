package copying

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
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
