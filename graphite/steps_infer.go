package graphite

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
)

const (
	// enoughPoints is of how many points a step is taken.
	enoughPoints = 10
	// mostDeltas is how many of the latest intervals are looked at.
	mostDeltas = 2000
	// maxFurther is how many series are looked for outside of the first window in one request.
	maxFurther = 2000
)

// Parts of the window that are read for points, in seconds: the end of it is enough for nearly all series.
const (
	nearReach    = 6 * 3600
	furtherReach = 48 * 3600
)

// A span is the window of a fetch, in epoch seconds.
type span struct{ from, until, now int64 }

// millis are the ends of a time range, cut to what the store can hold.
func millis(from, until int64) (start, end int64) {
	return max(inReach(from), 0) * 1000, min(max(inReach(until), -1)*1000+999, storage.MaxTime)
}

// inferSteps returns the steps of the series that have points enough: at the end of the window, else around it, else in all of it.
func inferSteps(ctx context.Context, r reader, refs []storage.Ref, w span) (map[storage.Ref]int64, error) {
	last := inReach(min(w.until, w.now))
	found := make(map[storage.Ref]int64, len(refs))
	look := func(from, until int64) error {
		start, end := millis(from, until)
		return r.inferred(ctx, refs, start, end, found)
	}
	if err := look(max(w.from, last-nearReach), last); err != nil {
		return nil, err
	}
	if refs = without(refs, found); len(refs) == 0 || len(refs) > maxFurther {
		return found, nil
	}
	if err := look(last-furtherReach, min(last+nearReach, w.now)); err != nil {
		return nil, err
	}
	if refs = without(refs, found); len(refs) == 0 || w.from >= last-furtherReach {
		return found, nil
	}
	return found, look(w.from, last)
}

// inferred adds the steps that points of a time range (milliseconds) say.
func (r reader) inferred(ctx context.Context, refs []storage.Ref, start, end int64, found map[storage.Ref]int64) error {
	var mu sync.Mutex // guards found
	return r.each(ctx, refs, start, end, func(p storage.Points) {
		if step, ok := inferStep(p.Times, p.Values); ok {
			mu.Lock()
			defer mu.Unlock()
			found[p.Ref] = step
		}
	})
}

func without(refs []storage.Ref, found map[storage.Ref]int64) []storage.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(ref storage.Ref) bool {
		_, ok := found[ref]
		return ok
	})
}

// inferStep returns the step of points, ascending by time in milliseconds, in whole seconds: the median of the intervals between them,
// which neither gaps nor some points out of turn move, and the step that people would have set if it is near one. NaN is no point.
func inferStep(times []int64, values []float64) (seconds int64, ok bool) {
	var deltas []int64
	points, next := 0, int64(0)
	for i := len(times) - 1; i >= 0 && len(deltas) < mostDeltas; i-- {
		if math.IsNaN(values[i]) {
			continue
		}
		if points++; points > 1 {
			deltas = append(deltas, next-times[i])
		}
		next = times[i]
	}
	if points < enoughPoints {
		return 0, false
	}
	slices.Sort(deltas)
	return usualStep(deltas[len(deltas)/2]), true
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
