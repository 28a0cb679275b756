package catalog

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// Version returns the version of a metric's series, which changes before a point of another series
// is acknowledged. It returns false where other processes may register series, or if the metric is
// unknown.
func (cat *Catalog) Version(ctx context.Context, metric string) (storage.SeriesVersion, bool) {
	uid, ok := cat.metricUID(ctx, metric)
	return cat.index.Version(uid), ok
}

// WholeVersion is Version for the series of all metrics.
func (cat *namer) WholeVersion() (storage.SeriesVersion, bool) {
	return cat.index.WholeVersion(), cat.db.Exclusive && cat.o.Ready() == nil
}

// metricUID returns the UID of a metric, and false if not all of its series are known.
func (cat *Catalog) metricUID(ctx context.Context, metric string) (string, bool) {
	if !cat.db.Exclusive || cat.o.Ready() != nil {
		return "", false
	}
	uids, err := cat.lookup(ctx, storage.MetricName, []string{metric})
	if err != nil || len(uids) == 0 {
		return "", false
	}
	return uids[0], true
}

// Since returns the series of a metric that were registered after a version, up to another one, in
// the order of Find. It returns false if series were removed in between.
func (cat *Catalog) Since(ctx context.Context, metric string, from, to storage.SeriesVersion) ([]storage.Found, bool, error) {
	uid, ok := cat.metricUID(ctx, metric)
	if !ok {
		return nil, false, nil
	}
	ids, ok := cat.index.Since(uid, from, to)
	return cat.named(ctx, ids, ok)
}

// WholeSince is Since for the series of all metrics.
func (cat *namer) WholeSince(ctx context.Context, from, to storage.SeriesVersion) ([]storage.Found, bool, error) {
	ids, ok := cat.index.WholeSince(from, to)
	return cat.named(ctx, ids, ok)
}

func (cat *namer) named(ctx context.Context, ids []index.ID, ok bool) ([]storage.Found, bool, error) {
	if !ok {
		return nil, false, nil
	}
	found, err := cat.Name(ctx, ids)
	return found, err == nil, err
}

// MayHavePoints returns the condition that a series may have points between start and end
// (milliseconds, inclusive); nil: all do.
func (cat *activity) MayHavePoints(start, end int64) func(storage.Ref) bool {
	passes := cat.days.overlap(start, end)
	if passes == nil {
		return nil
	}
	return func(ref storage.Ref) bool { return passes(index.IDOf(ref)) }
}

// AllMayHavePoints reports whether all series of a metric may have points between start and end
// (milliseconds, inclusive).
func (cat *Catalog) AllMayHavePoints(ctx context.Context, metric string, start, end int64) bool {
	uid, ok := cat.metricUID(ctx, metric)
	if !ok {
		return false
	}
	passes := cat.days.overlap(start, end)
	if passes == nil {
		return true
	}
	for _, id := range cat.index.Candidates([]string{uid}, nil) {
		if !passes(id) {
			return false
		}
	}
	return true
}
