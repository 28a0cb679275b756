package main

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// sent is a corpus of 600 series and 4 steps on two lanes, 100 samples a request: 12 requests a
// lane.
var sent = load.Shape{Seed: 3, Series: 600, Steps: 4, Interval: 10 * time.Second, End: time.Unix(1_700_000_000, 0)}

// stored returns the samples of the first requests of each lane, as many as done states, as a
// server would return them.
func stored(done []int) map[string]*prompb.TimeSeries {
	all := map[string]*prompb.TimeSeries{}
	for i, lane := range sent.Lanes(len(done)) {
		n := 0
		lane.Each(func(s load.Sample) {
			if n/100 < done[i] {
				key := keyOf(s.Series)
				if all[key] == nil {
					all[key] = &prompb.TimeSeries{}
					for _, l := range s.Series.Labels {
						all[key].Labels = append(all[key].Labels, prompb.Label{Name: l.Name, Value: l.Value})
					}
				}
				all[key].Samples = append(all[key].Samples, prompb.Sample{Timestamp: s.Time, Value: s.Value})
			}
			n++
		})
	}
	return all
}

// The comparison of the drill finds every way in which a server can be wrong, and no error in a
// correct server.
func TestTruth(t *testing.T) {
	const some = "node_misc_field07"
	for _, test := range []struct {
		name  string
		has   []int // requests of each lane that are stored
		done  []int // that were acknowledged
		spoil func(*prompb.TimeSeries)
		want  finding
	}{
		{name: "all", has: []int{12, 12}, done: []int{12, 12}, want: finding{acked: 2400}},
		{name: "under way and stored", has: []int{6, 12}, done: []int{5, 12}, want: finding{acked: 1700}},
		{name: "under way and not stored", has: []int{5, 0}, done: []int{5, 0}, want: finding{acked: 500}},
		{name: "a request lost", has: []int{5, 3}, done: []int{5, 4}, want: finding{acked: 900, missing: 100}},
		{name: "more than was sent", has: []int{7, 4}, done: []int{5, 4}, want: finding{acked: 900, invented: 100}},
		{
			name: "another value", has: []int{12, 12}, done: []int{12, 12}, want: finding{acked: 2400, changed: 1},
			spoil: func(s *prompb.TimeSeries) { s.Samples[1].Value++ },
		},
		{
			name: "twice", has: []int{12, 12}, done: []int{12, 12}, want: finding{acked: 2400, twice: 1},
			spoil: func(s *prompb.TimeSeries) { s.Samples = append(s.Samples, s.Samples[0]) },
		},
		{
			name: "another time", has: []int{12, 12}, done: []int{12, 12}, want: finding{acked: 2400, missing: 1, invented: 1},
			spoil: func(s *prompb.TimeSeries) { s.Samples[2].Timestamp++ },
		},
		{
			name: "another series", has: []int{12, 12}, done: []int{12, 12}, want: finding{acked: 2400, missing: 4, invented: 4},
			spoil: func(s *prompb.TimeSeries) { s.Labels[0].Value = "x" },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got finding
			all := newTruth(sent, 2, 100)
			for key, s := range stored(test.has) {
				if test.spoil != nil && strings.Contains(key, some) && strings.Contains(key, "host-0000") {
					test.spoil(s)
				}
				all.add(&got, s)
			}
			all.check(&got, test.done)
			got.example = ""
			if got != test.want {
				t.Errorf("found %v, want %v", got, test.want)
			}
		})
	}
}
