package job

import (
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Rule tells which intervals of which series are filled.
type Rule struct {
	Name string // for the log and the state; unique
	// Filters find at least the series of the rule, and Matches decides.
	Filters []storage.Filter
	Matches func(storage.Series) bool
	// Intervals are in the configuration of the rollup tables, and CanFill each.
	Intervals []*rollup.Interval
	// Delay is how long after its end an interval counts as closed.
	Delay time.Duration
	// Back is how far back intervals are filled, and filled anew when their points change.
	Back time.Duration
}

// Bounds of the rules.
const (
	MinDelay = time.Minute
	MaxBack  = 20 * 365 * 24 * time.Hour
)

// daySeconds is the longest interval that is filled.
const daySeconds = 24 * schema.RowSeconds

// CanFill reports whether intervals begin at the same times for whoever asks for them: at multiples of
// their length since 1970.
func CanFill(i *rollup.Interval) bool {
	row := daySeconds
	if i.Span.Unit == 'h' {
		row = i.Span.Seconds()
	}
	return !i.Default && i.Seconds <= daySeconds && daySeconds%i.Seconds == 0 && row%i.Seconds == 0
}

// Aggregations are what is filled, in the order of the values.
func Aggregations() []string { return []string{"sum", "count", "min", "max"} }

// The places of the aggregations.
const (
	atSum = iota
	atCount
	atMin
	atMax
)

// floor returns the begin of the interval that a time is in, both in seconds.
func floor(t uint32, i *rollup.Interval) uint32 { return t - t%uint32(i.Seconds) }

// before returns the begin of the interval that a time some duration ago is in, in seconds.
func before(now time.Time, ago time.Duration, i *rollup.Interval) uint32 {
	return floor(uint32(min(max(now.Add(-ago).Unix(), 0), storage.MaxTime/1000)), i)
}
