package e2e_test

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// TestLoadHolds tests the check of the drills itself: what it must accept, and what it must not.
func TestLoadHolds(t *testing.T) {
	l := &load{o: loadOptions{Generation: 3, Start: time.UnixMilli(1000)}.withDefaults()}
	samples := func(batches ...int) (all []prompb.Sample) {
		for _, n := range batches {
			all = append(all, sampleAt(l.at(n), float64(n)))
		}
		return all
	}
	wrong := samples(3, 4)
	wrong[1].Value = 5
	for _, c := range []struct {
		name    string
		samples []prompb.Sample
		to      int // batches from 3 on are acknowledged
		want    bool
	}{
		{"all acknowledged", samples(3, 4, 5), 6, true},
		{"part of a generation", samples(3, 4), 5, true},
		{"one more was under way", samples(3, 4), 4, true},
		{"none acknowledged, one under way", samples(3), 3, true},
		{"nothing", nil, 3, true},
		{"the last is lost", samples(3, 4), 6, false},
		{"all lost", nil, 4, false},
		{"one is lost in the middle", samples(3, 5), 5, false},
		{"twice", samples(3, 3, 4), 5, false},
		{"two that were not acknowledged", samples(3, 4, 5), 4, false},
		{"of the next generation", samples(3, 4, 5, 6), 6, false},
		{"another value", wrong, 5, false},
	} {
		if got := l.holds(c.samples, 3, c.to); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSameResults tests the comparison itself.
func TestSameResults(t *testing.T) {
	at := func(labels string, points ...point) result { return result{labels, points} }
	want := []result{at("{a}", point{"1", "2"}, point{"2", "0.1"}), at("{b}", point{"1", "NaN"})}
	for _, c := range []struct {
		name string
		got  []result
		same bool
	}{
		{"the same", []result{at("{a}", point{"1", "2"}, point{"2", "0.1"}), at("{b}", point{"1", "NaN"})}, true},
		{"the last bit", []result{at("{a}", point{"1", "2"}, point{"2", "0.10000000000000002"}), at("{b}", point{"1", "NaN"})}, true},
		{"another value", []result{at("{a}", point{"1", "2"}, point{"2", "0.1000000001"}), at("{b}", point{"1", "NaN"})}, false},
		{"another instant", []result{at("{a}", point{"1", "2"}, point{"2.001", "0.1"}), at("{b}", point{"1", "NaN"})}, false},
		{"a point missing", []result{at("{a}", point{"1", "2"}), at("{b}", point{"1", "NaN"})}, false},
		{"a number for NaN", []result{at("{a}", point{"1", "2"}, point{"2", "0.1"}), at("{b}", point{"1", "0"})}, false},
		{"a series missing", []result{at("{a}", point{"1", "2"}, point{"2", "0.1"})}, false},
		{"another series", []result{at("{a}", point{"1", "2"}, point{"2", "0.1"}), at("{c}", point{"1", "NaN"})}, false},
		{"nothing", nil, false},
	} {
		if err := sameResults(c.got, want, nearlySame); (err == nil) != c.same {
			t.Errorf("%s: %v, want the same: %v", c.name, err, c.same)
		}
	}
	if nearlySame("-0", "0") || nearlySame("0", "-0") {
		t.Error("-0 is taken for 0")
	}
}
