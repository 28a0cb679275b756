package row

import (
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// steady raises ages by up to span, none above the latest of them, so that a cell of ages
// tells them in few different bytes: within a run all points have the lag of the latest in it, as
// those that are sent as they are measured, or all have its age, as those that are sent in a burst.
func steady(ages []own.Age, span int64) []own.Age {
	newest := int64(0)
	for _, a := range ages {
		newest = max(newest, a.Time)
	}
	for rest := ages; len(rest) > 0; {
		lags, lag := run(rest, span, func(a own.Age) int64 { return a.Time - int64(a.Offset) })
		burst, age := run(rest, span, func(a own.Age) int64 { return a.Time })
		n := max(lags, burst)
		for i := range rest[:n] {
			to := age
			if lags >= burst {
				to = lag + int64(rest[i].Offset)
			}
			rest[i].Time = min(to, newest)
		}
		rest = rest[n:]
	}
	return ages
}

// run returns how many of the first ages have a measure within span, and the greatest.
func run(ages []own.Age, span int64, measure func(own.Age) int64) (n int, most int64) {
	most = measure(ages[0])
	least := most
	for n = 1; n < len(ages); n++ {
		m := measure(ages[n])
		if max(most, m)-min(least, m) > span {
			break
		}
		least, most = min(least, m), max(most, m)
	}
	return n, most
}
