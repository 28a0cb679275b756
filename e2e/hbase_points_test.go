package e2e_test

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// epoch is the first instant of most tests' data: a whole hour, so long ago that a TSD compacts its
// rows at every query.
var epoch = time.Unix(1356998400, 0).UTC()

// pointSet is what a store holds: labels as in result → milliseconds → value. Two are equal when
// every bit is.
type pointSet map[string]map[int64]string

// add records a point; the newest wins.
func (s pointSet) add(labels string, at int64, v float64) {
	if s[labels] == nil {
		s[labels] = map[int64]string{}
	}
	s[labels][at] = bitText(v)
}

// remove deletes a point from the set.
func (s pointSet) remove(labels string, at int64) {
	if delete(s[labels], at); len(s[labels]) == 0 {
		delete(s, labels)
	}
}

// count returns the number of points.
func (s pointSet) count() (n int) {
	for _, points := range s {
		n += len(points)
	}
	return n
}

// clone returns a deep copy.
func (s pointSet) clone() pointSet {
	c := pointSet{}
	for labels, points := range s {
		c[labels] = maps.Clone(points)
	}
	return c
}

// shown returns the points as the query API returns them: without stale markers, and with all other
// NaNs equal.
func (s pointSet) shown() pointSet {
	c := pointSet{}
	for labels, points := range s {
		for at, v := range points {
			if v == bitText(math.Float64frombits(value.StaleNaN)) {
				continue
			}
			if c[labels] == nil {
				c[labels] = map[int64]string{}
			}
			if strings.HasPrefix(v, "NaN") {
				v = bitText(math.NaN())
			}
			c[labels][at] = v
		}
	}
	return c
}

// check fails the test unless got equals the set.
func (s pointSet) check(t testing.TB, who string, got pointSet) {
	t.Helper()
	if diff := s.diff(got); diff != "" {
		t.Errorf("%s: points differ (-want +got):\n%s", who, diff)
	}
}

// wait repeats the read until its result equals the set.
func (s pointSet) wait(t testing.TB, who string, got func() (pointSet, error)) {
	t.Helper()
	eventually(t, waitTimeout, who, func() error {
		points, err := got()
		if err != nil {
			return err
		}
		if diff := s.diff(points); diff != "" {
			return fmt.Errorf("points differ (-want +got):\n%s", diff)
		}
		return nil
	})
}

func (s pointSet) diff(got pointSet) string {
	const longest = 4000
	diff := cmp.Diff(s, got)
	return diff[:min(len(diff), longest)]
}

// bitText returns the value with every bit of it.
func bitText(v float64) string {
	if math.IsNaN(v) {
		return fmt.Sprintf("NaN %x", math.Float64bits(v))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// keyText returns the key of a pointSet: name, value, name, value, ...
func keyText(pairs ...string) string {
	ls := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		ls[pairs[i]] = pairs[i+1]
	}
	return labelText(ls)
}

// write sends one series, records its points and fails the test unless they are acknowledged.
func (s pointSet) write(t testing.TB, c client, samples []prompb.Sample, labels ...string) {
	t.Helper()
	// A cluster that has just started, or a busy machine, may be slower than --hbase.timeout: what
	// is answered 503 is sent again, as Prometheus does.
	eventually(t, waitTimeout, "points written", func() error {
		r := c.Write(t, series(samples, labels...))
		if r.status == http.StatusServiceUnavailable {
			return fmt.Errorf("answer: %v", r)
		}
		r.ok(t)
		return nil
	})
	for _, p := range samples {
		s.add(keyText(labels...), p.Timestamp, p.Value)
	}
}

// ourPoints returns the floats of a metric as remote read returns them. Each series comes once, in
// order of time.
func ourPoints(t testing.TB, c client, metric string, from, to time.Time) pointSet {
	t.Helper()
	all := pointSet{}
	for _, ts := range c.Read(t, from, to, equals("__name__", metric)) {
		ls := map[string]string{}
		for _, l := range ts.Labels {
			ls[l.Name] = l.Value
		}
		key := labelText(ls)
		if all[key] != nil {
			t.Errorf("series %s was returned twice", key)
		}
		if !slices.IsSortedFunc(ts.Samples, func(a, b prompb.Sample) int { return int(a.Timestamp - b.Timestamp) }) {
			t.Errorf("series %s is not in order of time", key)
		}
		for _, p := range ts.Samples {
			if all[key][p.Timestamp] != "" {
				t.Errorf("series %s: %d ms comes twice", key, p.Timestamp)
			}
			all.add(key, p.Timestamp, p.Value)
		}
	}
	return all
}

// queriedPoints returns the floats of a selector as the query API returns them, which leaves stale
// markers out.
func queriedPoints(t testing.TB, c client, selector string, from, to time.Time) pointSet {
	t.Helper()
	all := pointSet{}
	// A range selector is open at its left.
	window := to.Sub(from) + time.Millisecond
	for _, r := range c.Query(t, fmt.Sprintf("%s[%dms]", selector, window.Milliseconds()), to) {
		for _, p := range r.points {
			if strings.HasPrefix(p.value, "{") {
				continue
			}
			at, err := strconv.ParseFloat(p.at, 64)
			if err != nil {
				t.Fatal(err)
			}
			v, err := strconv.ParseFloat(p.value, 64)
			if err != nil {
				t.Fatal(err)
			}
			all.add(r.labels, int64(math.Round(at*1000)), v)
		}
	}
	return all
}
