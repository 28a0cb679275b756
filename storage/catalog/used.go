package catalog

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

// UsedUIDs returns those of some UIDs, by Mapping.Key, that series have: those of tsdb-meta, and where
// other processes write also those of the row keys of the data table, which takes as long as to read it.
func (cat *Catalog) UsedUIDs(ctx context.Context, some []uid.Mapping) (map[string]bool, error) {
	asked, used := map[string]bool{}, map[string]bool{}
	for _, m := range some {
		asked[m.Key()] = true
	}
	note := func(kind schema.Kind, raw []byte) {
		if key := (uid.Mapping{Kind: kind, UID: raw}).Key(); asked[key] {
			used[key] = true
		}
	}
	for _, rows := range []bool{false, true} {
		if rows && (cat.db.Exclusive || len(used) == len(asked)) {
			break
		}
		err := cat.EachTSUID(ctx, SeriesScan{Rows: rows}, func(tsuids [][]byte) error {
			for _, tsuid := range tsuids {
				metric, tags, err := cat.layout.ParseTSUID(tsuid)
				if err != nil {
					continue // of other widths
				}
				note(schema.Metric, metric)
				for key, value := range cat.layout.Pairs(tags) {
					note(schema.Tagk, key)
					note(schema.Tagv, value)
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
