package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// truth is everything that a corpus sends. It is compared with what a server has stored.
type truth struct {
	series map[string]*trueSeries // by labels
	batch  int
}

type trueSeries struct {
	lane     int
	times    []int64
	values   []float64
	requests []int // for each sample, the number of its request in the lane
	found    []int // for each sample, how often it was found
}

func newTruth(shape load.Shape, lanes, batch int) *truth {
	t := &truth{series: map[string]*trueSeries{}, batch: batch}
	byPointer := map[*load.Series]*trueSeries{}
	for i, lane := range shape.Lanes(lanes) {
		n := 0
		lane.Each(func(s load.Sample) {
			one := byPointer[s.Series]
			if one == nil {
				one = &trueSeries{lane: i}
				byPointer[s.Series], t.series[keyOf(s.Series)] = one, one
			}
			one.times, one.values = append(one.times, s.Time), append(one.values, s.Value)
			one.requests, one.found = append(one.requests, n/batch), append(one.found, 0)
			n++
		})
	}
	return t
}

func keyOf(s *load.Series) string {
	var b strings.Builder
	for _, l := range s.Labels {
		b.WriteString(l.Name + "=" + l.Value + ",")
	}
	return b.String()
}

func keyOfLabels(labels []prompb.Label) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.Name + "=" + l.Value + ",")
	}
	return b.String()
}

// A finding counts how the stored samples differ from those sent.
type finding struct {
	acked    int // acknowledged samples
	missing  int // acknowledged samples that are not there
	invented int // samples that were never sent, or not yet
	changed  int // samples with another value
	twice    int // samples that were returned more than once
	example  string
}

func (f finding) String() string {
	return fmt.Sprintf("%d acknowledged: %d missing, %d never sent, %d of another value, %d twice %s", f.acked, f.missing, f.invented, f.changed, f.twice, f.example)
}

func (f *finding) see(what *int, format string, args ...any) {
	if *what++; f.example == "" {
		f.example = "(" + fmt.Sprintf(format, args...) + ")"
	}
}

// reset begins a comparison.
func (t *truth) reset() {
	for _, s := range t.series {
		clear(s.found)
	}
}

// add compares what a server returned for a series, or for a part of it.
func (t *truth) add(f *finding, got *prompb.TimeSeries) {
	key := keyOfLabels(got.Labels)
	s := t.series[key]
	for _, sample := range got.Samples {
		if s == nil {
			f.see(&f.invented, "series %s", key)
			continue
		}
		i, ok := slices.BinarySearch(s.times, sample.Timestamp)
		switch {
		case !ok:
			f.see(&f.invented, "%s at %d", key, sample.Timestamp)
		case math.Float64bits(sample.Value) != math.Float64bits(s.values[i]):
			f.see(&f.changed, "%s at %d is %v, not %v", key, sample.Timestamp, sample.Value, s.values[i])
			s.found[i]++
		default:
			s.found[i]++
		}
	}
}

// check completes the finding after all results have been added. done is the number of acknowledged
// requests of each lane. The next request was under way when the server was killed: it may be
// stored completely, in part or not at all.
func (t *truth) check(f *finding, done []int) {
	for key, s := range t.series {
		for i, n := range s.found {
			acked := s.requests[i] < done[s.lane]
			if acked {
				f.acked++
			}
			switch {
			case n > 1:
				f.see(&f.twice, "%s at %d", key, s.times[i])
			case n == 0 && acked:
				f.see(&f.missing, "%s at %d", key, s.times[i])
			case n == 1 && s.requests[i] > done[s.lane]:
				f.see(&f.invented, "%s at %d: not sent yet", key, s.times[i])
			}
		}
	}
}
