package queryable

import (
	"math"
	"time"

	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/storage"
)

// endings are the lookbacks of series that have others than most, in the form of stale markers.
// Both evaluators know these: an instant sees no sample before one, and ranges pass over them.
type endings struct {
	most time.Duration // the lookback of the evaluator
	of   func(storage.Ref) time.Duration
}

// Ending returns a Store that shows after each sample, where no other one follows within the lookback of the series, a
// stale marker, if that is shorter than most.
func (p *Store) Ending(most time.Duration, of func(storage.Ref) time.Duration) promstorage.Queryable {
	other := *p
	other.endings = &endings{most, of}
	return &other
}

// end returns the samples of a series with stale markers up to last (milliseconds). more are further
// times of samples, ascending. If there are none to add, it returns what it got.
func (e *endings) end(ref storage.Ref, times []int64, values []float64, more []int64, last int64) ([]int64, []float64) {
	if e == nil {
		return times, values
	}
	span := e.of(ref)
	if span >= e.most {
		return times, values
	}
	marks := marksOf(times, more, span.Milliseconds(), last)
	if len(marks) == 0 {
		return times, values
	}
	return withMarks(times, values, marks)
}

// marksOf returns the times at which samples stop counting before another one follows.
func marksOf(times, more []int64, span, last int64) (marks []int64) {
	for i, k := 0, 0; i < len(times) || k < len(more); {
		var at int64
		if k == len(more) || i < len(times) && times[i] <= more[k] {
			at, i = times[i], i+1
		} else {
			at, k = more[k], k+1
		}
		next := int64(math.MaxInt64)
		if i < len(times) {
			next = times[i]
		}
		if k < len(more) {
			next = min(next, more[k])
		}
		if at+span < next && at+span <= last {
			marks = append(marks, at+span)
		}
	}
	return marks
}

// withMarks returns a copy of samples with stale markers.
func withMarks(times []int64, values []float64, marks []int64) ([]int64, []float64) {
	stale := math.Float64frombits(value.StaleNaN)
	n := len(times) + len(marks)
	allTimes, allValues := make([]int64, 0, n), make([]float64, 0, n)
	for i := range times {
		for len(marks) > 0 && marks[0] < times[i] {
			allTimes, allValues, marks = append(allTimes, marks[0]), append(allValues, stale), marks[1:]
		}
		allTimes, allValues = append(allTimes, times[i]), append(allValues, values[i])
	}
	for _, at := range marks {
		allTimes, allValues = append(allTimes, at), append(allValues, stale)
	}
	return allTimes, allValues
}
