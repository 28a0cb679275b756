package row

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// SeriesWithRows returns those of some TSUIDs that have rows in a table. It reads the keys of all rows of
// their metrics.
func SeriesWithRows(ctx context.Context, db *kv.Engine, l schema.Layout, table string, tsuids [][]byte) (map[string]bool, error) {
	found := map[string]bool{}
	for metric, of := range ByMetric(l, tsuids) {
		for bucket := range l.Buckets() {
			if err := addSeriesWithRows(ctx, db, l, ScanMetric(l, table, bucket, metric, 0, 1<<32-2), of, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// addSeriesWithRows adds those of some TSUIDs that have rows in a scan.
func addSeriesWithRows(ctx context.Context, db *kv.Engine, l schema.Layout, scan kv.Scan, of, found map[string]bool) error {
	scan.KeysOnly = true
	var tsuid []byte
	for row, err := range db.Scan(ctx, scan) {
		if err != nil {
			return err
		}
		key, err := l.ParseRowKey(row.Key)
		if err != nil {
			continue // of another layout: none of ours
		}
		if tsuid = key.AppendTSUID(tsuid[:0]); of[string(tsuid)] {
			found[string(tsuid)] = true
		}
	}
	return nil
}
