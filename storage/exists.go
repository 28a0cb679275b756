package storage

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Exists says of each series whether it has its row of tsdb-meta, which is written before its first point. It assigns nothing. Names that
// have no UID cost one read together.
func (s *Store) Exists(ctx context.Context, series []Series) ([]bool, error) {
	exist := make([]bool, len(series))
	metrics := make([]string, len(series))
	for i := range series {
		metrics[i] = series[i].Metric
	}
	uids, err := s.uids.Lookup(ctx, schema.Metric, metrics)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	var at []int
	for i := range series {
		if uids[i] == "" {
			continue
		}
		tsuid, ok, err := s.TSUID(ctx, series[i])
		if err != nil {
			return nil, err
		}
		if ok {
			keys, at = append(keys, tsuid), append(at, i)
		}
	}
	if len(keys) == 0 {
		return exist, nil
	}
	rows, err := s.db.Get(ctx, s.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d rows of %s: %w", len(keys), s.o.Tables.Meta, err)
	}
	for n, row := range rows {
		exist[at[n]] = len(row.Cells) > 0
	}
	return exist, nil
}
