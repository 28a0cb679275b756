package e2e_test

import (
	"testing"
	"time"
)

// TestKillUnderLoad crashes the adapter again and again while it is written to, on one store, and afterwards wants every acknowledged
// sample back, once.
func TestKillUnderLoad(t *testing.T) {
	needE2E(t)
	t.Parallel()
	const (
		crashes = 5
		between = 2000 // samples acknowledged before each crash
	)
	a := startAdapter(t)
	l := startLoad(t, loadOptions{}, a.client)
	for i := range crashes {
		l.WaitAcked(t, between)
		begin := time.Now()
		a.Kill()
		took := a.Restart(t)
		t.Logf("crash %d: %d samples acknowledged, ready %v after the start, %v after the crash", i+1, l.Acked(), took, time.Since(begin))
	}
	l.WaitAcked(t, between)
	l.Verify(t, a.client)

	a.Stop(t)
	a.Restart(t)
	l.Verify(t, a.client)
}
