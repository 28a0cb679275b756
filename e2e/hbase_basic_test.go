package e2e_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// testBasic writes everything that Prometheus sends to HBase and reads it back, and again after a
// restart of the adapter.
func testBasic(t *testing.T, s tables) {
	first := s.create(t)
	for _, table := range []string{"", "-uid", "-meta", "-tree"} {
		if !strings.Contains(first, "table "+s.name+table+" is there") {
			t.Errorf("tables create does not name %s:\n%s", s.name+table, first)
		}
	}
	if second := s.create(t); second != first {
		t.Errorf("tables create prints\n%s when the tables exist, first\n%s", second, first)
	}
	a := s.startAdapter(t)
	want := writeFloats(t, a.client)
	objects := writeObjects(t, a.client)

	readAll := func() {
		t.Helper()
		want.check(t, "remote read", ourPoints(t, a.client, "basic", epoch.Add(-time.Hour), time.Now()))
		want.shown().check(t, "query", queriedPoints(t, a.client, "basic", epoch.Add(-time.Hour), time.Now()))
		objects.check(t, a.client)
	}
	readAll()
	a.Stop(t)
	a.Restart(t)
	readAll()
	// The new process knows nothing about the rows: it must read them before it writes to them.
	want.write(t, a.client, samples(at(2), 22, at(3), 3, at(3500), 35), "__name__", "basic", "kind", "late")
	readAll()
}

// testBasicSalted is testBasic on salted tables.
func testBasicSalted(t *testing.T, s tables) {
	s.flags = []string{"--storage.salt.width=1", "--storage.salt.buckets=4"}
	testBasic(t, s)
}

// at returns a stamp in milliseconds, that many seconds after the epoch of the tests.
func at(seconds float64) int64 { return epoch.UnixMilli() + int64(math.Round(seconds*1000)) }

// samples returns pairs of a stamp and a value.
func samples(pairs ...any) []prompb.Sample {
	all := make([]prompb.Sample, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		v, ok := pairs[i+1].(float64)
		if !ok {
			v = float64(pairs[i+1].(int))
		}
		all = append(all, prompb.Sample{Timestamp: pairs[i].(int64), Value: v})
	}
	return all
}

// writeFloats writes floats of every kind, age and order to the metric basic, and returns what must
// be stored.
func writeFloats(t *testing.T, c client) pointSet {
	t.Helper()
	want := pointSet{}
	write := func(kind string, points ...any) {
		t.Helper()
		want.write(t, c, samples(points...), "__name__", "basic", "kind", kind)
	}
	write("finite", at(0), 0, at(2), 1, at(3), 0.1, at(3.001), math.MaxFloat64, at(3.002), math.SmallestNonzeroFloat64,
		at(4), float64(1<<53+2), at(5), -42.5, at(3599.999), 1e-300, at(3600), 16777217)
	write("special", at(0), 1, at(1), math.NaN(), at(1.5), math.Inf(1), at(2), math.Inf(-1),
		at(3), math.Float64frombits(0x7ff8dead0000beef), at(9), math.Float64frombits(value.StaleNaN))

	write("late", at(10), 10, at(11), 11)
	write("late", at(1), 1, at(2), 2) // before what is there
	write("late", at(5), 5)           // between
	write("late", at(10), 10)         // again
	write("late", at(11), -11)        // corrected
	write("late", at(-3000), 7)       // the hour before
	write("late", at(11), math.Inf(1))
	write("late", at(5), 55, at(6), 6)

	write("any age", int64(0), 1, int64(1), 2, at(0), 3, time.Now().UnixMilli(), 4)
	// These were written outside of the window that is read.
	want.remove(keyText("__name__", "basic", "kind", "any age"), 0)
	want.remove(keyText("__name__", "basic", "kind", "any age"), 1)
	early := ourPoints(t, c, "basic", time.UnixMilli(0), time.UnixMilli(1000))
	pointSet{keyText("__name__", "basic", "kind", "any age"): {0: "1", 1: "2"}}.check(t, "1970", early)

	want.write(t, c, samples(at(1), 1), "__name__", "basic")
	want.write(t, c, samples(at(1), 2), "__name__", "basic", "path", "/a b/ü?{}=,", "le", "+Inf", "utf8.name ☃", "x")
	return want
}
