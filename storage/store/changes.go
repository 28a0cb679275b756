package store

import (
	"context"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// A Reading is points that somebody has read, and keeps something of. It tells when they change.
type Reading struct {
	names *uid.Dictionary
	*changes.Reading
}

// Read begins a reading of points between two times, both included, in milliseconds. It must be
// called before anything is read. It returns false where other processes write to the tables: what
// they change is not known.
func (s *services) Read(from, to int64) (*Reading, bool) {
	if s.changes == nil {
		return nil, false
	}
	return &Reading{s.uids, s.changes.Read(from, to)}, true
}

// Changed returns a time before which no points of the reading have changed since it began, in
// milliseconds; math.MaxInt64: none have changed at all. Only metrics count whose name is wanted.
// Points whose append or deletion has not returned yet may count or not.
func (r *Reading) Changed(ctx context.Context, wanted func(metric string) bool) int64 {
	return r.Reading.Changed(func(uid string) bool {
		names, err := r.names.Names(ctx, storage.MetricName, []string{uid})
		return err != nil || names[0] == "" || wanted(names[0])
	})
}

// ChangesByName returns what has changed since the reading began, metrics by their names; ok is false if it has ended. Points
// whose append or deletion has not returned yet may count or not.
func (r *Reading) ChangesByName(ctx context.Context) (d storage.Changes, ok bool, err error) {
	if d, ok = r.Details(); !ok {
		return d, false, nil
	}
	uids := slices.Collect(maps.Keys(d.Metrics))
	names, err := r.names.Names(ctx, storage.MetricName, uids)
	if err != nil {
		return d, false, err
	}
	named := make(map[string]int64, len(uids))
	for i, name := range names {
		if name != "" {
			named[name] = d.Metrics[uids[i]]
		}
	}
	d.Metrics = named
	return d, true, nil
}

// metricOf returns the UID of the metric of a series.
func (s *parts) metricOf(ref storage.Ref) string {
	return s.index.TSUID(index.IDOf(ref))[:s.layout.MetricWidth]
}
