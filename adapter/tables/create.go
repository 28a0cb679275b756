package tables

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
)

// CreateOptions are how "tables create" creates the tables on HBase.
type CreateOptions struct {
	Splits      string        // regions of the data table: a number, or row keys in hex, comma-separated
	Compression string        // auto, none, gz, snappy, lz4, zstd, lzo
	Encoding    string        // none, prefix, diff, fast_diff, row_index_v1
	BlockSize   int64         // of the data table, bytes
	TTL         time.Duration // of the data table; 0: rows are kept for ever
	DryRun      bool          // print the statements instead of creating tables
}

// Create creates the tables of OpenTSDB, and those of archives and rollups, on HBase. In a dry run it prints the statements for
// HBase's shell instead.
func Create(ctx context.Context, o Options, t CreateOptions, out io.Writer) error {
	if o.Engine != EngineHBase && !t.DryRun {
		return fmt.Errorf("--storage.engine=%s makes its tables by itself; \"tables create\" is for --storage.engine=hbase", o.Engine)
	}
	specs, err := t.specs(o)
	if err != nil {
		return err
	}
	if t.DryRun {
		_, err := io.WriteString(out, hbase.DDL(specs))
		return err
	}
	e, err := openHBase(o, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }() // nothing is buffered
	if err := e.CreateTables(ctx, specs); err != nil {
		return err
	}
	return describeTables(ctx, e, specs, out)
}

// describeTables prints the properties of the tables, including those that exist already, and which
// of them are not as they should be.
func describeTables(ctx context.Context, e *hbase.Engine, specs []hbase.TableSpec, out io.Writer) error {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	tables, err := e.DescribeTables(ctx, names)
	if err != nil {
		return err
	}
	for _, t := range tables {
		for _, f := range t.Families {
			fmt.Fprintf(out, "table %s is there: family %v\n", t.Name, f)
			if f.Versions > 1 {
				fmt.Fprintf(out, "  it keeps %d versions of each cell where 1 is read: overwritten cells take disk space as often\n", f.Versions)
			}
		}
	}
	return nil
}

// specs returns the tables that are created.
func (t CreateOptions) specs(o Options) ([]hbase.TableSpec, error) {
	splits, err := hbase.ParseSplits(t.Splits)
	if err != nil {
		return nil, fmt.Errorf("--splits: %w", err)
	}
	names := hbase.TableNames{Data: o.TableData, UID: o.TableUID, Meta: o.TableMeta, Tree: o.TableTree}
	made := hbase.TableOptions{
		MetricWidth: o.MetricWidth, SaltWidth: o.SaltWidth, SaltBuckets: o.SaltBuckets,
		Splits: splits, Compression: t.Compression, Encoding: t.Encoding, BlockSize: t.BlockSize, TTL: t.TTL,
	}
	if err := made.Validate(); err != nil {
		return nil, err
	}
	specs := hbase.OpenTSDBTables(names, made)
	if o.TableArchive != "" {
		specs = append(specs, hbase.RollupTable(o.TableArchive, made))
	}
	rollups, err := o.RollupTables()
	if err != nil || rollups == nil {
		return specs, err
	}
	for _, name := range rollups.Tables() {
		specs = append(specs, hbase.RollupTable(name, made))
	}
	return specs, nil
}
