// Package scale decides how much a test does: a small amount in CI, the full amount in
// "make acceptance". Tests state both in one place. The package is for tests only.
package scale

import (
	"os"
	"testing"
)

// Env is the environment variable that asks for full sizes when it is "1".
const Env = "TSDBRIDGE_ACCEPTANCE"

// Marker starts the line that Of logs, which e2e/acceptance collects.
const Marker = "scale:"

// Full reports whether full sizes were asked for.
func Full() bool { return os.Getenv(Env) == "1" }

// Of returns the size of a test: short with -short, full in an acceptance run, and ci otherwise.
// what names the unit. Of logs the size.
func Of[N int | uint64](t testing.TB, what string, short, ci, full N) N {
	t.Helper()
	n := ci
	switch {
	case Full():
		n = full
	case testing.Short():
		n = short
	}
	t.Logf("%s %d %s", Marker, n, what)
	return n
}
