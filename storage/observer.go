package storage

import (
	"context"
)

// An Observer writes what belongs to a series in addition to its points: the rows of trees. Resolve
// calls it for series whose tsdb-meta row does not exist, each once a call, and writes that row
// afterwards: a process that finds it there finds the observer's rows too, and after a crash in
// between the next call for the series observes it again. Observe returns when its rows are in the
// tables; an error fails all series of the call, which their senders send again. It may be called
// for the same series by several at once, must not keep the slices, and must not call the store.
type Observer interface {
	Observe(ctx context.Context, series []NewSeries) error
	// Forget deletes what Observe wrote for series, which were deleted, durably. Series of which it
	// has nothing are no error. None of them is observed at the same time, but it may be afterwards.
	Forget(ctx context.Context, series []NewSeries) error
	// Forgotten drops what it keeps in memory of series for which another process called Forget.
	Forgotten(ctx context.Context, series []NewSeries) error
	// Renamed replaces what Observe wrote for series under their old names by what it writes for the
	// new ones, durably. Both lists have the same series in the same order. Old names that are the new
	// ones are not known: everything else that is known of the series is from before. It may be called
	// again for the same series; none of them is observed or forgotten at the same time.
	Renamed(ctx context.Context, old, renamed []NewSeries) error
}

// A Brancher is an Observer that makes branches of trees for series. It is safe for concurrent use.
type Brancher interface {
	// Branches returns how many branches are in memory, and how many Observe has made since the start.
	Branches() (kept int, made int64)
	// MostBranches returns a number of branches that Observe never exceeds for some series, and how
	// many of them are beyond some usual ones of each. It is cheap.
	MostBranches(all []Series, usual int) (most, beyond int)
	// NewBranches returns for each of some series how many branches Observe would make that are not
	// in memory, and that no series before it in the list makes; 0 where none are kept in memory.
	NewBranches(all []Series) []int
}
