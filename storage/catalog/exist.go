package catalog

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Exists reports of each series whether it has its row of tsdb-meta, which is written before its
// first point. It assigns nothing. Names that have no UID cost one read together.
func (cat *Catalog) Exists(ctx context.Context, all []storage.Series) ([]bool, error) {
	exist := make([]bool, len(all))
	metrics := make([]string, len(all))
	for i := range all {
		metrics[i] = all[i].Metric
	}
	uids, err := cat.uids.Lookup(ctx, storage.MetricName, metrics)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	var at []int
	for i := range all {
		if uids[i] == "" {
			continue
		}
		tsuid, ok, err := cat.TSUID(ctx, all[i])
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
	rows, err := cat.db.Get(ctx, cat.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d rows of %s: %w", len(keys), cat.o.Tables.Meta, err)
	}
	for n, row := range rows {
		exist[at[n]] = len(row.Cells) > 0
	}
	return exist, nil
}
