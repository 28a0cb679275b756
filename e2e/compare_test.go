package e2e_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// promqlCase is an expression, and whether an empty answer is right.
type promqlCase struct {
	expr  string
	empty bool
}

// promqlCases reads testdata/queries.txt.
func promqlCases(t testing.TB) []promqlCase {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "queries.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []promqlCase
	empty := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch line := strings.TrimSpace(lines.Text()); {
		case line == "may be empty":
			empty = true
		case line != "" && !strings.HasPrefix(line, "#"):
			all = append(all, promqlCase{line, empty})
		}
	}
	if lines.Err() != nil || len(all) == 0 {
		t.Fatalf("%d expressions: %v", len(all), lines.Err())
	}
	return all
}

// comparison sends two servers the same queries, about the time between from and to.
type comparison struct {
	got, want client
	from, to  time.Time
}

// instants is the number of instants at which each expression is evaluated by instant queries.
const instants = 7

// run fails the test for each expression that is answered differently, or with nothing at all
// instants.
func (q comparison) run(t testing.TB, cases []promqlCase) {
	t.Helper()
	begin, results := time.Now(), 0
	for _, c := range cases {
		found := 0
		equal := nearlySame
		if strings.HasSuffix(c.expr, "]") && !strings.Contains(c.expr, "(") {
			equal = same // raw samples
		}
		for i := range instants {
			at := q.from.Add(q.to.Sub(q.from) * time.Duration(i+1) / instants)
			want := q.want.Query(t, c.expr, at)
			found += len(want)
			if err := sameResults(q.got.Query(t, c.expr, at), want, equal); err != nil {
				t.Errorf("%s at %s: %v", c.expr, stamp(at), err)
				break
			}
		}
		if !strings.HasSuffix(c.expr, "]") { // a matrix has no range query
			want := q.want.QueryRange(t, c.expr, q.from, q.to, time.Second)
			found += len(want)
			if err := sameResults(q.got.QueryRange(t, c.expr, q.from, q.to, time.Second), want, equal); err != nil {
				t.Errorf("%s from %s to %s: %v", c.expr, stamp(q.from), stamp(q.to), err)
			}
		}
		if found == 0 && !c.empty {
			t.Errorf("%s: no result at any instant", c.expr)
		}
		results += found
	}
	t.Logf("%d expressions, %d results compared in %v", len(cases), results, time.Since(begin))
}

// sameResults returns the first difference between two answers. It compares values with equal.
func sameResults(got, want []result, equal func(got, want string) bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d series, want %d; %s", len(got), len(want), fmt.Sprint(got, want))
	}
	for i, w := range want {
		g := got[i]
		if g.labels != w.labels {
			return fmt.Errorf("series %s, want %s", g.labels, w.labels)
		}
		if len(g.points) != len(w.points) {
			return fmt.Errorf("%s: %d points, want %d\n%v\n%v", g.labels, len(g.points), len(w.points), g.points, w.points)
		}
		for n, p := range w.points {
			if g.points[n].at != p.at || !equal(g.points[n].value, p.value) {
				return fmt.Errorf("%s: point %d is %v, want %v", g.labels, n, g.points[n], p)
			}
		}
	}
	return nil
}

// same reports whether two values are the same.
func same(got, want string) bool { return got == want }

// nearlySame reports whether two values are the same except for the last bits of a sum: the series
// of an aggregation have no order.
func nearlySame(got, want string) bool {
	if got == want {
		return true
	}
	g, errG := strconv.ParseFloat(got, 64)
	w, errW := strconv.ParseFloat(want, 64)
	return errG == nil && errW == nil && g != 0 && math.Abs(g-w) <= 1e-13*math.Abs(w)
}
