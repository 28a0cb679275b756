package write

import (
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// wholeRange is the rows of a metric in one salt bucket and whole hours, all of series that a
// deletion names.
type wholeRange struct {
	group  metricGroup
	lo, hi uint32 // base times that the series of the group may have
	keys   kv.KeyRange
	rows   int
}

// fewForRange is the number of rows up to which a range is not looked for.
const fewForRange = 32

// byRange deletes the rows of a group as one range, which brings their space back at once and costs
// no tombstone for each row. done is false, and nothing is deleted, unless all rows there are of
// series that the deletion names: those that the index knows, and those that are found.
func (r *removal) byRange(ctx context.Context, g metricGroup, lo, hi uint32) (done bool, err error) {
	from, to := lo, hi+1 // after every row of hi
	if !r.covers(lo) {
		from = lo + 1 // after every row of lo
	}
	if !r.covers(hi) {
		to = hi
	}
	if r.table.db.Local == nil || from >= to || !r.hasMetric(g.metric) {
		return false, nil
	}
	w := wholeRange{group: g, lo: lo, hi: hi}
	w.keys.From = r.table.layout.AppendRangeKey(nil, g.bucket, []byte(g.metric), from)
	w.keys.To = r.table.layout.AppendRangeKey(nil, g.bucket, []byte(g.metric), to)
	for found, err := range r.scan(ctx, g, lo, hi) {
		switch {
		case err != nil:
			return false, err
		case !found.wanted:
			r.keys = r.keys[:0] // they are found again
			return false, nil
		case r.covers(found.base):
			w.rows++
		default:
			r.keys = append(r.keys, found.key)
			if err := r.removeMany(ctx); err != nil {
				return false, err
			}
		}
	}
	if err := r.remove(ctx); err != nil {
		return false, err
	}
	if w.rows == 0 {
		return true, nil
	}
	if r.ranges = append(r.ranges, w); len(r.ranges) < rangesAtOnce {
		return true, nil
	}
	return true, r.removeRanges(ctx)
}

// hasMetric reports whether the deletion names all series of a metric that the index knows.
func (r *removal) hasMetric(metric string) bool {
	for _, id := range r.table.index.Candidates([]string{metric}, nil) {
		if _, found := slices.BinarySearch(r.deletion.IDs, id); !found {
			return false
		}
	}
	return true
}

// removeRanges deletes the ranges that were found. A series that was registered meanwhile may have
// rows there: then the rows of the range are deleted one by one.
func (r *removal) removeRanges(ctx context.Context) error {
	var keys []kv.KeyRange
	var shared []wholeRange
	if len(r.ranges) == 0 {
		return nil
	}
	err := r.alone(func() error {
		for _, w := range r.ranges {
			if !r.hasMetric(w.group.metric) {
				shared = append(shared, w)
				continue
			}
			keys = append(keys, w.keys)
			r.rows += w.rows
		}
		if len(keys) == 0 {
			return nil
		}
		_, err := r.table.db.Local.DeleteRange(ctx, r.table.name, keys...)
		return err
	})
	r.ranges = r.ranges[:0]
	if err != nil {
		return err
	}
	for _, w := range shared {
		if err := r.byScan(ctx, w.group, w.lo, w.hi); err != nil {
			return err
		}
	}
	return nil
}
