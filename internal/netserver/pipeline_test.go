package netserver

import "testing"

// Work is done in the order in which it was begun, one piece at a time, and all of it is done when
// Wait returns.
func TestPipeline(t *testing.T) {
	var r Pipeline
	var done []int // of the relay, and after Wait of its owner
	for i := range 100 {
		r.Begin(func() { done = append(done, i) })
	}
	r.Wait()
	r.Wait()
	for i, n := range done {
		if i != n {
			t.Fatalf("done in the order %v", done)
		}
	}
	if len(done) != 100 {
		t.Errorf("%d pieces of work done, want 100", len(done))
	}
	(*Pipeline)(nil).Wait()
}
