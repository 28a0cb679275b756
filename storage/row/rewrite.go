package row

import (
	"context"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ByMetric returns TSUIDs of any metrics as sets, by the UIDs of their metrics.
func ByMetric(l schema.Layout, tsuids [][]byte) map[string]map[string]bool {
	metrics := map[string]map[string]bool{}
	for _, tsuid := range tsuids {
		metric := string(tsuid[:l.MetricWidth])
		if metrics[metric] == nil {
			metrics[metric] = map[string]bool{}
		}
		metrics[metric][string(tsuid)] = true
	}
	return metrics
}

// A Rewrite changes rows of a metric from base Lo to base Hi, inclusive.
type Rewrite struct {
	DB     *kv.Engine
	Layout schema.Layout
	Table  string
	Metric string
	Of     map[string]bool // TSUIDs of the series whose rows are changed
	Lo, Hi uint32
	AtOnce int // rows that are applied together
	// Change returns what becomes of a row with a base time. Its mutation need not have a key; without puts and
	// deletes the row stays.
	Change func(base uint32, row kv.Row) (kv.Mutation, error)
}

// Run scans the rows and applies the changes durably. After an error some may be applied.
func (r *Rewrite) Run(ctx context.Context) error {
	var list []kv.Mutation
	var tsuid []byte
	apply := func() error {
		if len(list) == 0 {
			return nil
		}
		err := r.DB.Apply(ctx, r.Table, schema.FamilyData, list)
		list = list[:0]
		return err
	}
	for bucket := range r.Layout.Buckets() {
		for row, err := range r.DB.Scan(ctx, ScanMetric(r.Layout, r.Table, bucket, r.Metric, r.Lo, r.Hi)) {
			if err != nil {
				return err
			}
			key, err := r.Layout.ParseRowKey(row.Key)
			if err != nil {
				return err
			}
			if tsuid = key.AppendTSUID(tsuid[:0]); !r.Of[string(tsuid)] {
				continue
			}
			m, err := r.Change(key.Base, row)
			if err != nil {
				return err
			}
			if m.Key = row.Key; len(m.Puts)+len(m.Deletes) > 0 {
				list = append(list, m)
			}
			if len(list) >= r.AtOnce {
				if err := apply(); err != nil {
					return err
				}
			}
		}
	}
	return apply()
}
