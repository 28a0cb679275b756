package read

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Learned costs follow what is observed, ignore outliers and small reads, and stay within bounds. Those of ways that
// were not used follow.
func TestLearnedCosts(t *testing.T) {
	c := &learnedCosts{engine: kv.Costs{Get: 30, Row: 4, Suffix: 4, Tag: 1}}
	observe := func(n int, each time.Duration) {
		for range n {
			c.learn(planRange, 1000, 1000*each)
		}
	}
	want := func(when string, row, suffix float64) {
		t.Helper()
		if got := c.now(); got.Row != row || got.Suffix != suffix || got.Get != 30*row/4 || got.Tag != row/4 {
			t.Errorf("%s: %+v, want rows at %v and suffixes at %v", when, got, row, suffix)
		}
	}
	observe(fewestCosts-1, 2*time.Microsecond)
	want("with few observations", 4, 4)
	observe(1, 2*time.Microsecond)
	want("with enough", 2, 2)
	observe(4, time.Second)
	want("with four outliers", 2, 2)
	for range 100 {
		c.learn(planRange, fewestRows-1, time.Hour)
	}
	want("with small reads", 2, 2)
	observe(lastCosts, time.Second)
	want("of a cluster in trouble", 4*costBound, 4*costBound)
	observe(lastCosts, 0)
	want("of a cluster that costs nothing", 4.0/costBound, 4.0/costBound)
}

// Of several ways that were used the fastest tells about those that were not.
func TestLearnedCostsOfOthers(t *testing.T) {
	c := &learnedCosts{engine: kv.Costs{Get: 30, Row: 4, Suffix: 4, Tag: 1}}
	for range fewestCosts {
		c.learn(planRows, 1000, 120*time.Millisecond)
		c.learn(planRegexp, 1000, 2*time.Millisecond)
	}
	if got := c.now(); got.Get != 120 || got.Tag != 2 || got.Row != 8 || got.Suffix != 8 {
		t.Errorf("%+v, want 120, 2, and rows at 8", got)
	}
}

// Rows by key cost more or less together, whether they are near to each other or not.
func TestLearnedCostsOfKeys(t *testing.T) {
	for kind, each := range map[planKind]time.Duration{planRows: 60 * time.Microsecond, planNear: 20 * time.Microsecond} {
		c := &learnedCosts{engine: kv.Costs{Get: 30, Near: 10}}
		for range fewestCosts {
			c.learn(kind, 1000, 1000*each)
		}
		if got := c.now(); got.Get != 60 || got.Near != 20 {
			t.Errorf("after %v for rows of plan %v: %+v, want 60 and 20", each, kind, got)
		}
	}
}
