package catalog

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage"
)

// UsedUIDs returns those of some UIDs, by Mapping.Key, that series have: those of tsdb-meta, and where
// other processes write also those of the row keys of the data table, which takes as long as to read it.
func (cat *discovery) UsedUIDs(ctx context.Context, some []storage.Mapping) (map[string]bool, error) {
	asked, used := map[string]bool{}, map[string]bool{}
	for _, m := range some {
		asked[m.Key()] = true
	}
	note := func(kind storage.NameKind, raw []byte) {
		if key := (storage.Mapping{Kind: kind, UID: raw}).Key(); asked[key] {
			used[key] = true
		}
	}
	for _, rows := range []bool{false, true} {
		if rows && (cat.db.Exclusive || len(used) == len(asked)) {
			break
		}
		err := cat.EachTSUID(ctx, storage.SeriesScan{Rows: rows}, func(tsuids [][]byte) error {
			for _, tsuid := range tsuids {
				metric, tags, err := cat.layout.ParseTSUID(tsuid)
				if err != nil {
					continue // of other widths
				}
				note(storage.MetricName, metric)
				for key, value := range cat.layout.Pairs(tags) {
					note(storage.TagKeyName, key)
					note(storage.TagValueName, value)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return used, nil
}
