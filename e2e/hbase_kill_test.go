package e2e_test

import (
	"testing"
	"time"
)

// TestHBaseKillUnderLoad crashes HBase, then the adapter, then both during writes, and afterwards
// checks that every acknowledged sample is there once.
func TestHBaseKillUnderLoad(t *testing.T) {
	needE2E(t)
	t.Parallel()
	c, _ := startHBase(t)
	// The hours of the load are over: in buffered mode each flush puts their rows, while HBase
	// stops and starts.
	for _, mode := range []string{"through", "buffered"} {
		t.Run(mode, func(t *testing.T) { testHBaseKill(t, tables{cluster: c, name: "kill-" + mode}, "--write.mode="+mode) })
	}
}

func testHBaseKill(t *testing.T, s tables, flags ...string) {
	t.Helper()
	c := s.cluster
	s.create(t)
	a := s.startAdapter(t, append(flags, "--hbase.timeout=5s")...)
	l := startLoad(t, a.client)
	restartHBase := func() {
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, crash := range []struct {
		of  string
		run func()
	}{
		{"HBase", func() { c.KillHBase(); restartHBase() }},
		{"adapter", func() { a.Kill(); a.Restart(t) }},
		{"HBase", func() { c.KillHBase(); restartHBase() }},
		{"adapter", func() { a.Kill(); a.Restart(t) }},
		{"both", func() { a.Kill(); c.KillHBase(); a.Relaunch(t); restartHBase() }},
	} {
		l.WaitAcked(t, 10_000)
		acked, begin := l.Acked(), time.Now()
		crash.run()
		up := time.Since(begin)
		ready := a.WaitReady(t)
		l.WaitAcked(t, 1)
		t.Logf("crash of %s: %d samples acknowledged before; up again after %v, adapter ready %v later, next acknowledgement after %v",
			crash.of, acked, up.Round(time.Millisecond), ready.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	}
	l.WaitAcked(t, 10_000)
	l.Verify(t, a.client)
	a.Stop(t)
	a.Restart(t)
	l.Verify(t, a.client)
}
