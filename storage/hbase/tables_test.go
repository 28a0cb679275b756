package hbase

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestTables prints the tables of some options as the HBase shell would create them.
func TestTables(t *testing.T) {
	datadriven.RunTest(t, "testdata/tables", func(t *testing.T, d *datadriven.TestData) string {
		o := TableOptions{MetricWidth: 3}
		var splits string
		var ttl int
		d.MaybeScanArgs(t, "metric", &o.MetricWidth)
		d.MaybeScanArgs(t, "salt", &o.SaltWidth)
		d.MaybeScanArgs(t, "buckets", &o.SaltBuckets)
		d.MaybeScanArgs(t, "compression", &o.Compression)
		d.MaybeScanArgs(t, "encoding", &o.Encoding)
		d.MaybeScanArgs(t, "ttl", &ttl)
		d.MaybeScanArgs(t, "block", &o.BlockSize)
		o.TTL = time.Duration(ttl) * time.Second
		splits = d.Input
		var err error
		if o.Splits, err = ParseSplits(splits); err == nil {
			err = o.Validate()
		}
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		specs := OpenTSDBTables(TableNames{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"}, o)
		if d.Cmd == "data" {
			specs = specs[:1]
		}
		return DDL(specs)
	})
}
