package source

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

const (
	// enoughPoints is how many points a step needs to be kept.
	enoughPoints = 10
	// mostDeltas is how many of the latest intervals are used.
	mostDeltas = 2000
	// maxFurther is how many series are looked for outside of the first window in one request.
	maxFurther = 2000
)

// Parts of the window that are read for points, in seconds: the end of it is enough for nearly all
// series.
const (
	nearReach    = 6 * 3600
	furtherReach = 48 * 3600
)

// A span is the window of a fetch, in epoch seconds.
type span struct{ from, until, now int64 }

// millis returns the ends of a time range, cut to what the store can hold.
func millis(from, until int64) (start, end int64) {
	return max(inReach(from), 0) * 1000, min(max(inReach(until), -1)*1000+999, storage.MaxTime)
}

// An inference is the steps that follow from the points of series, in seconds.
type inference struct {
	mu    sync.Mutex // guards all below while points are read
	found map[storage.Ref]int64
	// guessed are the steps of series of two or more points, but too few to be sure.
	guessed map[storage.Ref]int64
}

// inferSteps infers the steps of series: from the end of the window, else from around it, else from
// all of it.
func inferSteps(ctx context.Context, r reader, refs []storage.Ref, w span) (*inference, error) {
	last := inReach(min(w.until, w.now))
	found := &inference{found: make(map[storage.Ref]int64, len(refs)), guessed: map[storage.Ref]int64{}}
	look := func(from, until int64) error {
		start, end := millis(from, until)
		return r.all(ctx, storage.Query{Refs: refs, Start: start, End: end, Samples: true, Histograms: true}, found.add)
	}
	if err := look(max(w.from, last-nearReach), last); err != nil {
		return nil, err
	}
	if refs = without(refs, found.found); len(refs) == 0 || len(refs) > maxFurther {
		return found, nil
	}
	if err := look(last-furtherReach, min(last+nearReach, w.now)); err != nil {
		return nil, err
	}
	if refs = without(refs, found.found); len(refs) == 0 || w.from >= last-furtherReach {
		return found, nil
	}
	return found, look(w.from, last)
}

// add infers the step of one series from its points, of a series without any from its histograms.
func (f *inference) add(p storage.Points) {
	step, points := inferStep(p.Times, p.Values)
	if points == 0 {
		times := timesOfHistograms(p)
		step, points = inferStep(times, make([]float64, len(times)))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case points >= enoughPoints:
		f.found[p.Ref] = step
	case points > 1:
		f.guessed[p.Ref] = step
	}
}

// timesOfHistograms returns the times of the histograms of a series.
func timesOfHistograms(p storage.Points) (times []int64) {
	for _, o := range p.Objects {
		if (o.Kind == storage.KindHistogram || o.Kind == storage.KindCoded) && (len(times) == 0 || times[len(times)-1] != o.Time) {
			times = append(times, o.Time)
		}
	}
	return times
}

func without(refs []storage.Ref, found map[storage.Ref]int64) []storage.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(ref storage.Ref) bool {
		_, ok := found[ref]
		return ok
	})
}

// inferStep returns the step of points in whole seconds, and the number of points. times are
// ascending, in milliseconds. NaN is not a point, and one point has no step. With enough points the
// step is the interval that a quarter of the intervals do not exceed, so neither gaps nor a few
// points out of order change it, rounded to a usual step that is near. With fewer points it is a
// step at which each point is drawn.
func inferStep(times []int64, values []float64) (seconds int64, points int) {
	var deltas, present []int64
	for i := len(times) - 1; i >= 0 && len(deltas) < mostDeltas; i-- {
		if math.IsNaN(values[i]) {
			continue
		}
		if points++; points > 1 {
			deltas = append(deltas, present[len(present)-1]-times[i])
		}
		present = append(present, times[i])
	}
	if len(deltas) == 0 {
		return 0, points
	}
	if points < enoughPoints {
		return stepApart(present, slices.Min(deltas)), points
	}
	slices.Sort(deltas)
	return usualStep(deltas[len(deltas)/4]), points
}

// stepApart returns a step at which no two of some points share a slot, as far as whole seconds
// can; least is their smallest interval.
func stepApart(times []int64, least int64) int64 {
	step := usualStep(least)
	slots := make(map[int64]bool, len(times))
	for _, t := range times {
		slots[t/1000/step] = true
	}
	if len(slots) == len(times) {
		return step
	}
	return max(least/1000, 1)
}

// usualStep rounds an interval in milliseconds to a step in seconds.
func usualStep(interval int64) int64 {
	for _, usual := range []int64{1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400} {
		if off := interval - usual*1000; -usual*50 <= off && off <= usual*50 { // 5 %
			return usual
		}
	}
	return min(max((interval+500)/1000, 1), greatestStep)
}
