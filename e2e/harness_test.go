// Package e2e_test runs the adapter as a process of its own against real peers: Prometheus,
// promtool, HBase and OpenTSDB. It uses only the adapter's ports, commands and log, and skips all
// tests unless TSDBRIDGE_E2E=1.
package e2e_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// waitTimeout bounds every wait for something that takes a second or less on an idle machine.
const waitTimeout = 60 * time.Second

func TestMain(m *testing.M) {
	code := m.Run()
	if err := binaries.remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// needE2E skips a test that starts servers, unless TSDBRIDGE_E2E=1.
func needE2E(t testing.TB) {
	t.Helper()
	if os.Getenv("TSDBRIDGE_E2E") != "1" {
		t.Skip("end-to-end test: set TSDBRIDGE_E2E=1 (make e2e)")
	}
	if testing.Short() {
		t.Skip("end-to-end test: left out with -short")
	}
}

// eventually calls ask until it succeeds, and fails the test with its last error when the time is
// up.
func eventually(t testing.TB, limit time.Duration, what string, ask func() error) {
	t.Helper()
	const pause = 50 * time.Millisecond
	begin := time.Now()
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Since(begin) > limit {
			t.Fatalf("%s: not within %v: %v", what, limit, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s: %v: %v", what, t.Context().Err(), err)
		case <-time.After(pause):
		}
	}
}
