package e2e_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/prompb"
)

// loadKey is one series of a load.
type loadKey struct{ writer, series, generation int }

// Verify stops the load, reads all that it wrote by remote read, and returns how many samples it
// found. It fails the test unless every acknowledged sample is there once, in order, with its
// value, and there is nothing else but what was under way when the load was stopped.
func (l *load) Verify(t testing.TB, c client) int {
	t.Helper()
	l.Stop()
	got := map[loadKey][]prompb.Sample{}
	total := 0
	// One writer at a time keeps the answers small.
	for w := range l.o.Writers {
		for _, ts := range c.Read(t, l.o.Start, l.at(l.o.Batches), equals("__name__", l.o.Metric), equals("writer", strconv.Itoa(w))) {
			key := keyOf(t, ts.Labels)
			if _, twice := got[key]; twice {
				t.Errorf("series %+v was returned twice", key)
			}
			got[key] = ts.Samples
			total += len(ts.Samples)
		}
	}
	bad := 0
	for w := range l.o.Writers {
		bad += l.verifyWriter(t, w, got)
	}
	if len(got) > 0 {
		t.Errorf("%d series that were never written, such as %+v", len(got), slices.Collect(maps.Keys(got))[0])
	}
	t.Logf("load: %d samples acknowledged, %d found, %d requests sent again, %d series wrong", l.Acked(), total, l.Retries(), bad)
	return total
}

// verifyWriter checks the series of one writer, removes them from got and returns how many are
// wrong.
func (l *load) verifyWriter(t testing.TB, w int, got map[loadKey][]prompb.Sample) (bad int) {
	t.Helper()
	acked := int(l.acked[w].Load())
	for i := range l.o.Series {
		for g := 0; g*l.o.Generation <= acked; g++ {
			key := loadKey{writer: w, series: i, generation: g}
			from, to := g*l.o.Generation, min((g+1)*l.o.Generation, acked)
			if !l.holds(got[key], from, to) {
				if bad++; bad <= 5 {
					t.Errorf("series %+v: batches %d to %d are acknowledged, found %v", key, from, to, got[key])
				}
			}
			delete(got, key)
		}
	}
	return bad
}

// holds reports whether the samples are those of the batches from from to to (exclusive), or one
// more, which was under way.
func (l *load) holds(samples []prompb.Sample, from, to int) bool {
	n := len(samples)
	if n != to-from && (n != to-from+1 || to == from+l.o.Generation) {
		return false
	}
	for i, s := range samples {
		if s.Timestamp != l.at(from+i).UnixMilli() || s.Value != float64(from+i) {
			return false
		}
	}
	return true
}

func keyOf(t testing.TB, ls []prompb.Label) loadKey {
	t.Helper()
	byName := map[string]int{}
	for _, l := range ls {
		if n, err := strconv.Atoi(l.Value); err == nil {
			byName[l.Name] = n
		}
	}
	return loadKey{writer: byName["writer"], series: byName["series"], generation: byName["generation"]}
}
