package adapter

import (
	"context"
	"errors"

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

// checkers returns those of some tables. With mends, trees may be changed.
func (o Options) checkers(db kv.KV, store *store.Store, names *translate.Translator, mends bool) checkers {
	trees := forest.NewChecker(db, forest.CheckOptions{Options: o.treeOptions(names), MetaTable: o.TableMeta, Catalog: store.Catalog(), Mends: mends})
	return checkers{store.Fsck(o.archives()), trees, o.TableTree}
}

// archives tells how the documents of series list their archives.
func (o Options) archives() *fsck.Archives {
	return &fsck.Archives{Table: o.TableArchive, Key: source.KeptKey, List: source.ListArchive}
}

// Checker returns what checks the tables of a process. On an embedded store only a command mends trees:
// an adapter has them in memory.
func (a *Adapter) Checker(command bool) fsck.Source {
	return a.o.checkers(a.db, a.store, a.names, command || a.o.Engine == EngineHBase)
}

// WithChecker opens the tables to be checked.
func (o Options) WithChecker(ctx context.Context, use func(context.Context, fsck.Source) error) error {
	checker, closeStore, err := o.openChecker(ctx)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, checker), closeStore())
}

// openChecker opens tables that exist. The log of an embedded store stays as it is: what it holds is
// not in the tables yet, and comes after what a check mends.
func (o Options) openChecker(ctx context.Context) (fsck.Source, func() error, error) {
	if o.Engine == EngineMemory {
		return nil, nil, errors.New("--storage.engine=memory keeps nothing that another process could open: give the --adapter-url of the one that runs")
	}
	names, err := o.translator()
	if err != nil {
		return nil, nil, err
	}
	db, engine, err := o.openTablesThatAre()
	if err != nil {
		return nil, nil, err
	}
	store, err := o.storeOver(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, engine.Close())
	}
	return o.checkers(db, store, names, true), engine.Close, nil
}
