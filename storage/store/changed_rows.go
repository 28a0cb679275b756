package store

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// EachChangedRow calls visit with the hours (their begin, in seconds) in which a metric has rows with cells of a stamp
// (milliseconds) or a later one, in no particular order, perhaps several times. It is for shared tables: elsewhere stamps tell
// nothing. An error of visit ends it.
func (s *services) EachChangedRow(ctx context.Context, metric string, since int64, visit func(base uint32) error) error {
	uids, err := s.uids.Lookup(ctx, storage.MetricName, []string{metric})
	if err != nil || uids[0] == "" {
		return err
	}
	for bucket := range s.layout.Buckets() {
		scan := kv.Scan{
			Table: s.o.Tables.Data, Family: schema.FamilyData, KeysOnly: true, Since: max(since, 1),
			Start: s.layout.AppendRangeKey(nil, bucket, []byte(uids[0]), 0), Stop: s.layout.AppendRangeKey(nil, bucket, []byte(uids[0]), 1<<32-1),
		}
		for row, err := range s.db.Scan(ctx, scan) {
			if err != nil {
				return fmt.Errorf("look for changed rows of %s: %w", metric, err)
			}
			key, err := s.layout.ParseRowKey(row.Key)
			if err != nil {
				continue // a row of others
			}
			if err := visit(key.Base); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachDeletion calls visit with the series and the time (milliseconds) of the deletions on shared tables since a stamp that the
// processes have recorded. A TSD records none.
func (s *services) EachDeletion(ctx context.Context, since int64, visit func(tsuids [][]byte, start, end int64) error) error {
	j := journal.New(s.db, s.o.Tables.Tree, s.o.Now)
	entries, bad, err := j.Entries(ctx, max(since, 1))
	if err != nil {
		return err
	}
	for _, err := range bad {
		return err
	}
	for _, e := range entries {
		if err := j.Series(ctx, e, func(tsuids [][]byte) error { return visit(tsuids, e.Start, e.End) }); err != nil {
			return err
		}
	}
	return nil
}
