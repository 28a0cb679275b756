package fsck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The words for the tables in a Query.
const (
	TableData    = "data"
	TableMeta    = "meta"
	TableTree    = "tree" // which package tree checks
	TableArchive = "archive"
)

// ParseTables reads the words of tables that are checked, separated by commas.
func ParseTables(text string) (tables []string, err error) {
	for word := range strings.SplitSeq(text, ",") {
		switch word = strings.TrimSpace(word); {
		case word == "":
		case word != TableData && word != TableMeta && word != TableTree && word != TableArchive:
			return nil, fmt.Errorf("%s: want %s, %s, %s or %s", word, TableData, TableMeta, TableTree, TableArchive)
		case !slices.Contains(tables, word):
			tables = append(tables, word)
		}
	}
	return tables, nil
}

// Checks reports whether a table is checked.
func (q *Query) Checks(table string) bool {
	return len(q.Tables) == 0 || slices.Contains(q.Tables, table)
}

// Plan cuts what is to be checked into about n stretches for each table.
func (c *Checker) Plan(ctx context.Context, q Query, n int) (all []Stretch, err error) {
	uids, err := c.metricUIDs(ctx, q.Metrics)
	if err != nil {
		return nil, err
	}
	for _, t := range []struct {
		word string
		plan func(ctx context.Context, q *Query, uids []string, n int) ([]Stretch, error)
	}{{TableData, c.planData}, {TableMeta, c.planMeta}, {TableArchive, c.planArchives}} {
		if !q.Checks(t.word) {
			continue
		}
		stretches, err := t.plan(ctx, &q, uids, n)
		if err != nil {
			return nil, err
		}
		all = append(all, stretches...)
	}
	return all, nil
}

// metricUIDs are the UIDs of the metrics of a query.
func (c *Checker) metricUIDs(ctx context.Context, metrics []string) ([]string, error) {
	if len(metrics) == 0 {
		return nil, nil
	}
	uids, err := c.o.Names.Lookup(ctx, storage.MetricName, metrics)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(uids, ""); i >= 0 {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, metrics[i])
	}
	return uids, nil
}

// planData cuts the data table.
func (c *Checker) planData(ctx context.Context, q *Query, uids []string, n int) ([]Stretch, error) {
	return c.planRows(ctx, c.o.Tables.Data, q, uids, n)
}

// planRows cuts a table of rows of series where the engine knows a place to cut.
func (c *Checker) planRows(ctx context.Context, table string, q *Query, uids []string, n int) (stretches []Stretch, err error) {
	whole := []kv.Scan{{Table: table, Family: schema.FamilyData}}
	if len(uids) > 0 {
		whole = nil
	}
	for _, uid := range uids {
		whole = append(whole, c.metricScans(q, table, uid)...)
	}
	for _, s := range whole {
		parts, err := c.split(ctx, s, max(n/len(whole), 1))
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			stretches = append(stretches, Stretch{Table: p.Table, From: p.Start, To: p.Stop})
		}
	}
	return stretches, nil
}

// metricScans are the rows of a metric in a table, in the hours of a query, in each salt bucket.
func (c *Checker) metricScans(q *Query, table, uid string) []kv.Scan {
	scans := make([]kv.Scan, c.o.Layout.Buckets())
	for bucket := range scans {
		scans[bucket] = row.ScanMetric(c.o.Layout, table, bucket, uid, q.From, q.before()-1)
	}
	return scans
}

// planMeta cuts the metrics, whose UIDs are counted up from 1.
func (c *Checker) planMeta(ctx context.Context, _ *Query, uids []string, n int) (stretches []Stretch, err error) {
	for _, uid := range uids {
		stretches = append(stretches, Stretch{Table: c.o.Tables.Meta, From: []byte(uid), To: schema.Successor([]byte(uid))})
	}
	if len(uids) > 0 {
		return stretches, nil
	}
	rows, err := c.o.DB.Get(ctx, c.o.Tables.UID, schema.FamilyID, [][]byte{schema.MaxIDRow()})
	if err != nil {
		return nil, fmt.Errorf("read the counters of UIDs: %w", err)
	}
	most := int64(0)
	for _, cell := range rows[0].Cells {
		if string(cell.Qualifier) == string(schema.UIDQualifier(storage.MetricName)) {
			most, _ = schema.DecodeCounter(cell.Value) // 0: it is of no use, and reported elsewhere
		}
	}
	var from []byte
	for part := range int64(n) {
		to, err := schema.EncodeUID(most*(part+1)/int64(n), c.o.Layout.MetricWidth)
		if err == nil && string(to) > string(from) {
			stretches = append(stretches, Stretch{Table: c.o.Tables.Meta, From: from, To: to})
			from = to
		}
	}
	return append(stretches, Stretch{Table: c.o.Tables.Meta, From: from}), nil // up to what is beyond the counter
}
