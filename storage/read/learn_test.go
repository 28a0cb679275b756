package read

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Learned costs follow what is observed, ignore outliers and small reads, and stay within bounds.
func TestLearnedCosts(t *testing.T) {
	c := &learnedCosts{engine: kv.Costs{Get: 30, Row: 4, Suffix: 4, Tag: 1}}
	observe := func(n int, each time.Duration) {
		for range n {
			c.learn(&c.row, 1000, 1000*each)
		}
	}
	want := func(when string, row, suffix float64) {
		t.Helper()
		if got := c.now(); got.Row != row || got.Suffix != suffix || got.Get != 30 || got.Tag != 1 {
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
		c.learn(&c.row, fewestRows-1, time.Hour)
	}
	want("with small reads", 2, 2)
	observe(lastCosts, time.Second)
	want("of a cluster in trouble", 4*costBound, 4*costBound)
	observe(lastCosts, 0)
	want("of a cluster that costs nothing", 4.0/costBound, 4.0/costBound)
}
