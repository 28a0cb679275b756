package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// OpenedTrees are the trees of tables that no adapter has open.
type OpenedTrees struct {
	trees.Printer

	o      Options
	engine io.Closer
	tables *store.Store
}

// OpenTrees opens tables that exist.
func OpenTrees(o Options) (*OpenedTrees, error) {
	switch o.Engine {
	case tables.EngineMemory:
		return nil, errors.New("--storage.engine=memory keeps nothing that another process could look at: " + askAdapter)
	case tables.EngineEmbedded:
		if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--storage.path=%s: there is no store", o.Path)
		}
	}
	names, err := o.Translator()
	if err != nil {
		return nil, err
	}
	db, engine, err := tables.Open(o.Options, prometheus.NewRegistry(), 0)
	if err != nil {
		return nil, err
	}
	store, err := tables.StoreOver(context.Background(), o.Options, db)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	t := &OpenedTrees{Printer: treePrinter(forest.New(db, o.Graphite.treeOptions(o.Options, names)), store, names, db, o.TableTree), o: o, engine: engine, tables: store}
	t.Alone = true
	return t, nil
}

// Close closes the tables.
func (t *OpenedTrees) Close() error { return t.engine.Close() }

// Declare writes the trees of the configuration.
func (t *OpenedTrees) Declare(ctx context.Context) error {
	declared, err := t.o.Graphite.definitions()
	if err != nil {
		return err
	}
	return forest.Declare(ctx, t.DB, t.Table, declared)
}

// Sync appends the existing series to the trees that are enabled.
func (t *OpenedTrees) Sync(ctx context.Context, so forest.SyncOptions) (forest.SyncReport, error) {
	return forest.Sync(ctx, t.DB, t.o.Graphite.treeOptions(t.o.Options, t.Names), t.tables.Catalog(), so)
}

// treePrinter explains and prints the trees of a forest.
func treePrinter(forest *forest.Forest, store *store.Store, names *translate.Translator, db kv.KV, table string) trees.Printer {
	return trees.Printer{Explainer: trees.Explainer{Forest: forest, Store: store.Catalog(), Names: names}, DB: db, Table: table}
}

// askAdapter adds to an error what to do when another process has the tables open.
const askAdapter = "a running adapter answers the same at /api/v1/status/trees and /api/v1/status/trees/test?name=NAME"
