package storage

// A Span is a time in which any points may have changed, in milliseconds, both included.
type Span struct{ From, To int64 }

// Changes are what has changed since a reading began.
type Changes struct {
	Recent  int64            // the first time of a point of any metric that came when it was recent; math.MaxInt64: none
	Metrics map[string]int64 // the first times of other points, by the UIDs of metrics
	Spans   []Span           // of deletions, and of what else changes points of any metric
	Renamed bool             // series may have got other names
}
