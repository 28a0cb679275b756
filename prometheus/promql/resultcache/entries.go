package resultcache

import (
	"time"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// A key names the queries that share their steps.
type key struct {
	text        string
	step, phase int64 // milliseconds; the phase is the steps' distance from multiples of the step
	lookback    time.Duration
	inner       time.Duration // of subqueries without a step
}

// An entry is an answer that is kept.
type entry struct {
	*Answer
	shape   shape          // of the query
	reading *store.Reading // tells what has changed since it was computed
}

const (
	// idle is how long an answer is kept that nobody asks for.
	idle = 15 * time.Minute
	// largest is the part of the memory that one answer may take.
	largest = 2
)

func newEntries(o Options) *cache.Budgeted[key, entry] {
	return cache.NewBudgeted[key](cache.BudgetedOptions[entry]{
		Budget: o.Budget, MaxBytes: o.MaxBytes, Part: largest, Idle: idle, Now: o.Now,
		Dropped: func(e entry) { e.reading.End() },
	})
}
