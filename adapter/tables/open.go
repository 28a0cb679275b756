package tables

import (
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
	if rollups, err := o.RollupTables(); err == nil && rollups != nil { // checked by Validate
		for _, name := range rollups.Tables() {
			tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData}})
		}
	}
	return tables
}

// Open opens the configured engine. It waits up to wait for an embedded store that another process has
// open.
func Open(o Options, reg prometheus.Registerer, wait time.Duration) (kv.KV, io.Closer, error) {
	switch o.Engine {
	case EngineMemory:
		return kv.NewMem(o.Tables()...), noCloser{}, nil
	case EngineHBase:
		e, err := openHBase(o, reg)
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
		return nil, nil, fmt.Errorf("open the store in %s: %w", o.Path, WithAdvice(err))
	}
	reg.MustRegister(e.Collector())
	return e, e, nil
}

// WithAdvice adds to an error about damage how to recover.
func WithAdvice(err error) error {
	switch {
	case err == nil || !errors.Is(err, storage.ErrDamaged) && !errors.Is(err, log.ErrCorrupt):
		return err
	case errors.Is(err, kv.ErrMixed) || errors.Is(err, log.ErrMixed):
		return fmt.Errorf("%w. Put back files of one store and one moment, restore a backup, or let \"tsdbridge store check\" tell what is wrong and \"tsdbridge store check --fix\" make a store of what is left", err)
	}
	return fmt.Errorf("%w. Restore a backup, or let \"tsdbridge store check\" tell what is lost and \"tsdbridge store check --fix\" go on without it", err)
}

func openHBase(o Options, reg prometheus.Registerer) (*hbase.Engine, error) {
	return hbase.New(hbase.Options{
		ZooKeeper: o.ZooKeeper, Root: o.HBaseRoot, Timeout: o.HBaseTimeout, Logger: o.Logger, Registerer: reg,
	})
}

// EngineName names the place of the tables for people.
func (o Options) EngineName() string {
	if o.Engine == EngineHBase {
		return "HBase (ZooKeeper " + o.ZooKeeper + ")"
	}
	return "the " + o.Engine + " engine"
}

type noCloser struct{}

func (noCloser) Close() error { return nil }
