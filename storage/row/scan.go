package row

import (
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// ScanMetric returns the scan of a metric's rows in one salt bucket, from base lo to base hi,
// inclusive.
func ScanMetric(l schema.Layout, table string, bucket int, metric string, lo, hi uint32) kv.Scan {
	// Base times are whole hours, so hi+1 comes after every row of hi whatever its tags are, and
	// cannot overflow.
	return kv.Scan{
		Table: table, Family: schema.FamilyData,
		Start: l.AppendRangeKey(nil, bucket, []byte(metric), lo),
		Stop:  l.AppendRangeKey(nil, bucket, []byte(metric), hi+1),
	}
}
