package adapter

import (
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// checkers check the tables, each table one of them.
type checkers struct {
	store *fsck.Checker
	trees *forest.Checker
	tree  string // the table
}

// Plan implements fsck.Source.
func (c checkers) Plan(ctx context.Context, q fsck.Query, n int) ([]fsck.Stretch, error) {
	stretches, err := c.store.Plan(ctx, q, n)
	if err != nil {
		return nil, err
	}
	more, err := c.trees.Plan(ctx, q, n)
	return append(stretches, more...), err
}

// Check implements fsck.Source.
func (c checkers) Check(ctx context.Context, s fsck.Stretch, q fsck.Query, report func(fsck.Step) error) error {
	if s.Table == c.tree {
		return c.trees.Check(ctx, s, q, report)
	}
	return c.store.Check(ctx, s, q, report)
}

// newCheckers returns those of some tables. With mends, trees may be changed.
func newCheckers(o Options, db kv.KV, store *store.Store, names *translate.Translator, mends bool) checkers {
	trees := forest.NewChecker(db, forest.CheckOptions{Options: o.Graphite.treeOptions(o.Options, names), MetaTable: o.TableMeta, Catalog: store.Catalog(), Mends: mends})
	archives := &fsck.Archives{Table: o.TableArchive, Key: source.KeptKey, List: source.ListArchive}
	return checkers{store.Fsck(archives), trees, o.TableTree}
}

// Checker returns what checks the tables of a process. On an embedded store only a command mends trees:
// an adapter has them in memory.
func (t *opened) Checker(command bool) fsck.Source {
	return newCheckers(t.o, t.db, t.store, t.names, command || t.o.Engine == tables.EngineHBase)
}

// CheckTables opens tables that exist to be checked. The log of an embedded store stays as it is: what it holds is
// not in the tables yet, and comes after what a check mends.
func CheckTables(ctx context.Context, o Options, use func(context.Context, fsck.Source) error) error {
	if o.Engine == tables.EngineMemory {
		return errors.New("--storage.engine=memory keeps nothing that another process could open: give the --adapter-url of the one that runs")
	}
	names, err := o.Translator()
	if err != nil {
		return err
	}
	db, engine, err := tables.OpenExisting(o.Options)
	if err != nil {
		return err
	}
	store, err := tables.StoreOver(ctx, o.Options, db)
	if err == nil {
		err = use(ctx, newCheckers(o, db, store, names, true))
	}
	return errors.Join(err, engine.Close())
}
