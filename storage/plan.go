package storage

import (
	"time"
)

// A PlanOutcome is how reads of a metric in one way went in the last query that had some.
type PlanOutcome struct {
	// RowsExpected is what was estimated before, RowsRead what the engine read, for the answer or
	// not.
	RowsExpected, RowsRead int64
	// Took is the time until all rows were here, At the end of it.
	Took time.Duration
	At   time.Time
}

// A Plan is how Select reads some series of one metric.
type Plan struct {
	Kind string // rows (by key), near (likewise, near to each other), range, fuzzy, regexp
	// First is one of the series. Metric is the metric's UID.
	First  Ref
	Metric []byte
	Series int
	// Reads is how many reads of this kind there are: one for each salt bucket, and for each group
	// of series that is in memory at a time.
	Reads int
	// Rows is how many rows the series have in the range at most, RowsOfMetric how many those reads
	// are estimated to find of all series of the metric.
	Rows, RowsOfMetric int64
	// RowsExpected is how many rows the engine is expected to read. Last is how that went in the
	// last query that read the metric in this way; nil: there was none lately, or the engine is
	// local.
	RowsExpected int64
	Last         *PlanOutcome
	// Costs are what each of the ways is estimated to cost, in milliseconds: of the processor on
	// the embedded engine, of waiting on a cluster.
	Costs map[string]float64
}
