// Package storage is the contract of a store that keeps series of samples in the OpenTSDB schema:
// series in, series out. It holds the interfaces, the data and the errors that the protocols use.
// Package store implements it. It never knows a protocol, a label or a dotted path.
package storage

import (
	"context"
	"iter"
)

// Appender writes points. Appending the same point twice leaves one, so a caller may
// retry a failed batch whole. Safe for concurrent use.
type Appender interface {
	// Resolve returns a Ref for each series, in order; the first call for a series assigns UIDs and
	// last writes the tsdb-meta row, which marks the series complete. A bad series gets an error of
	// its own (ErrInvalid or ErrLimit) and a zero Ref; the others go through. errs is nil when all
	// went well, else one per series.
	Resolve(ctx context.Context, series []Series) (refs []Ref, errs []error)
	// Append returns when the batch is durable. The newest write wins: a point replaces what stood
	// at its instant. After an error some of the batch may be durable; appending it again is safe.
	// The batch is the caller's again afterwards.
	Append(ctx context.Context, batch *Batch) error
}

// Querier reads points back. Ending the loop early releases the scan.
type Querier interface {
	// Find lists the series that pass every filter and may have points between start and end
	// (milliseconds, inclusive), in no particular order. An unknown name gives an empty result.
	// More than limit series (0: no limit) is an ErrLimit.
	Find(ctx context.Context, filters []Filter, start, end int64, limit int) ([]Found, error)
	// Select reads points. A series without points in the range is left out.
	Select(ctx context.Context, q Query) iter.Seq2[Points, error]
	// SelectParts reads the same points on several cores. Each core has a worker, and the workers
	// commit their parts in the order of the query. A part is bounded in size, and each worker
	// holds one. The first error ends the reading and is returned; every part is committed if there
	// is none. worker is called by the calling goroutine.
	SelectParts(ctx context.Context, q Query, worker func() PartWorker) error
	// Metrics, TagKeys and TagValues list, in ascending order, the names of series that may have
	// points between start and end (milliseconds, inclusive), from the index alone. Where no other
	// process writes they distinguish days; on other tables they ignore the time.
	Metrics(ctx context.Context, start, end int64) ([]string, error)
	TagKeys(ctx context.Context, start, end int64) ([]string, error)
	TagValues(ctx context.Context, key string, start, end int64) ([]string, error)
}
