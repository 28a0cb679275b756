package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
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
func (o Options) OpenTrees() (*OpenedTrees, error) {
	switch o.Engine {
	case EngineMemory:
		return nil, errors.New("--storage.engine=memory keeps nothing that another process could look at: " + askAdapter)
	case EngineEmbedded:
		if _, err := os.Stat(o.Path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--storage.path=%s: there is no store", o.Path)
		}
	}
	names, err := o.translator()
	if err != nil {
		return nil, err
	}
	db, engine, err := o.openEngine(prometheus.NewRegistry(), 0)
	if err != nil {
		return nil, err
	}
	so := o.storageOptions()
	// the log is the adapter's
	so.Mode, so.LogUnacknowledged, so.Buffer.Dir = write.Through, false, ""
	// and so is what is too old
	so.Retention = 0
	tables, err := store.New(db, so)
	if err == nil {
		err = tables.PinLayout(context.Background())
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	t := &OpenedTrees{Printer: o.treePrinter(forest.New(db, o.treeOptions(names)), tables, names, db), o: o, engine: engine, tables: tables}
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
	return forest.Sync(ctx, t.DB, t.o.treeOptions(t.Names), t.tables.Catalog(), so)
}

// treePrinter explains and prints the trees of a forest.
func (o Options) treePrinter(forest *forest.Forest, store *store.Store, names *translate.Translator, db kv.KV) trees.Printer {
	return trees.Printer{Explainer: trees.Explainer{Forest: forest, Store: store.Catalog(), Names: names}, DB: db, Table: o.TableTree}
}

// askAdapter adds to an error what to do when another process has the tables open.
const askAdapter = "a running adapter answers the same at /api/v1/status/trees and /api/v1/status/trees/test?name=NAME"

// treeOptions returns the options of a forest over the tables.
func (o Options) treeOptions(names *translate.Translator) forest.Options {
	t := forest.DefaultOptions()
	t.TreeTable, t.UIDTable, t.Exclusive = o.TableTree, o.TableUID, o.Engine != EngineHBase
	t.Shown, t.Plain, t.DefaultTree, t.Inverse = translate.Shown, names.Plain, o.Graphite.DefaultTree, o.Graphite.inverts
	t.Stored, t.Rest = names.FromShown, names.RestOf
	return t
}
