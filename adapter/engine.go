package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Tables returns the tables and their families.
func (o Options) Tables() []kv.Table {
	tables := []kv.Table{
		{Name: o.TableData, Families: []string{schema.FamilyData}},
		{Name: o.TableUID, Families: []string{schema.FamilyID, schema.FamilyName}},
		{Name: o.TableMeta, Families: []string{schema.FamilyMeta}},
		{Name: o.TableTree, Families: []string{schema.FamilyData}},
	}
	if o.TableArchive != "" {
		tables = append(tables, kv.Table{Name: o.TableArchive, Families: []string{schema.FamilyData}})
	}
	if rollups, err := o.rollups(); err == nil && rollups != nil { // checked by Validate
		for _, name := range rollups.Tables() {
			tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData}})
		}
	}
	return tables
}

// openEngine opens the configured engine. It waits up to wait for an embedded store that another
// process has open.
func (o Options) openEngine(reg prometheus.Registerer, wait time.Duration) (kv.KV, io.Closer, error) {
	switch o.Engine {
	case EngineMemory:
		return kv.NewMem(o.Tables()...), noCloser{}, nil
	case EngineHBase:
		e, err := o.openHBase(reg)
		if err != nil {
			return nil, nil, err
		}
		return e, e, nil
	}
	e, err := pebble.Open(pebble.Options{
		Path: o.Path, CacheBytes: o.CacheBytes, MinFreeBytes: o.MinFreeBytes, Logger: o.Logger, Tables: o.Tables(), LockWait: wait,
		OpenFiles: o.StoreFiles,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open the store in %s: %w", o.Path, withAdvice(err))
	}
	reg.MustRegister(e.Collector())
	return e, e, nil
}

// lockWait is how long a start waits for a store that is in use: the previous process may have been
// killed and still be ending.
const lockWait = 5 * time.Second

// withAdvice adds to an error about damage how to recover.
func withAdvice(err error) error {
	switch {
	case err == nil || !errors.Is(err, storage.ErrDamaged) && !errors.Is(err, log.ErrCorrupt):
		return err
	case errors.Is(err, kv.ErrMixed) || errors.Is(err, log.ErrMixed):
		return fmt.Errorf("%w. Put back files of one store and one moment, restore a backup, or let \"tsdbridge store check\" tell what is wrong and \"tsdbridge store check --fix\" make a store of what is left", err)
	}
	return fmt.Errorf("%w. Restore a backup, or let \"tsdbridge store check\" tell what is lost and \"tsdbridge store check --fix\" go on without it", err)
}

func (o Options) openHBase(reg prometheus.Registerer) (*hbase.Engine, error) {
	return hbase.New(hbase.Options{
		ZooKeeper: o.ZooKeeper, Root: o.HBaseRoot, Timeout: o.HBaseTimeout, Logger: o.Logger, Registerer: reg,
	})
}

// engineName names the place of the tables for people.
func (o Options) engineName() string {
	if o.Engine == EngineHBase {
		return "HBase (ZooKeeper " + o.ZooKeeper + ")"
	}
	return "the " + o.Engine + " engine"
}

type noCloser struct{}

func (noCloser) Close() error { return nil }

// TableOptions are how "tables create" creates the tables on HBase.
type TableOptions struct {
	Splits      string        // regions of the data table: a number, or row keys in hex, comma-separated
	Compression string        // auto, none, gz, snappy, lz4, zstd, lzo
	Encoding    string        // none, prefix, diff, fast_diff, row_index_v1
	BlockSize   int64         // of the data table, bytes
	TTL         time.Duration // of the data table; 0: rows are kept for ever
	DryRun      bool          // print the statements instead of creating tables
}

// CreateTables creates the four tables, and those of archives and rollups, on HBase. In a dry run it prints the statements for HBase's
// shell instead.
func CreateTables(ctx context.Context, o Options, t TableOptions, out io.Writer) error {
	if o.Engine != EngineHBase && !t.DryRun {
		return fmt.Errorf("--storage.engine=%s makes its tables by itself; \"tables create\" is for --storage.engine=hbase", o.Engine)
	}
	specs, err := o.tableSpecs(t)
	if err != nil {
		return err
	}
	if t.DryRun {
		_, err := io.WriteString(out, hbase.DDL(specs))
		return err
	}
	e, err := o.openHBase(prometheus.NewRegistry())
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

func (o Options) tableSpecs(t TableOptions) ([]hbase.TableSpec, error) {
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
	rollups, err := o.rollups()
	if err != nil || rollups == nil {
		return specs, err
	}
	for _, name := range rollups.Tables() {
		specs = append(specs, hbase.RollupTable(name, made))
	}
	return specs, nil
}
