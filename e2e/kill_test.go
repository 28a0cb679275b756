package e2e_test

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// between is how many samples are acknowledged before each crash or stop.
const between = 2000

// TestKillUnderLoad crashes the adapter repeatedly during writes, on one store, also while it
// starts after a crash, and checks that every acknowledged sample is there once.
func TestKillUnderLoad(t *testing.T) {
	needE2E(t)
	t.Parallel()
	for _, mode := range []string{"through", "buffered"} {
		t.Run(mode, func(t *testing.T) { testKillUnderLoad(t, "--write.mode="+mode) })
	}
}

func testKillUnderLoad(t *testing.T, flags ...string) {
	t.Helper()
	crashes := scale.Of(t, "kills under load", 5, 5, 50)
	a := startAdapter(t, flags...)
	l := startLoad(t, a.client)
	for i := range crashes {
		l.WaitAcked(t, between)
		begin := time.Now()
		a.Kill()
		if i%2 == 1 {
			a.Relaunch(t)
			a.Kill()
		}
		took := a.Restart(t)
		t.Logf("crash %d: %d samples acknowledged, ready %v after the start, %v after the crash", i+1, l.Acked(), took, time.Since(begin))
	}
	l.WaitAcked(t, between)
	l.Verify(t, a.client)

	a.Stop(t)
	a.Restart(t)
	l.Verify(t, a.client)
}

// TestStopUnderLoad stops the adapter in order during writes: it ends by itself, and nothing
// acknowledged is missing afterwards.
func TestStopUnderLoad(t *testing.T) {
	needE2E(t)
	t.Parallel()
	for _, mode := range []string{"through", "buffered"} {
		t.Run(mode, func(t *testing.T) { testStopUnderLoad(t, "--write.mode="+mode) })
	}
}

func testStopUnderLoad(t *testing.T, flags ...string) {
	t.Helper()
	a := startAdapter(t, flags...)
	l := startLoad(t, a.client)
	for range scale.Of(t, "orderly stops under load", 3, 3, 20) {
		l.WaitAcked(t, between)
		begin := time.Now()
		a.Stop(t)
		t.Logf("stopped in %v, ready in %v", time.Since(begin), a.Restart(t))
	}
	l.Verify(t, a.client)
}
