package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// OpenExisting opens tables that must exist.
func OpenExisting(o Options) (kv.KV, io.Closer, error) {
	if o.Engine == EngineEmbedded {
		return openEmbedded(o)
	}
	return Open(o, prometheus.NewRegistry(), 0)
}

// StoreOver returns a store over open tables that changes nothing by itself, and has no log.
func StoreOver(ctx context.Context, o Options, db kv.KV) (*store.Store, error) {
	so := o.StoreOptions()
	so.Mode, so.LogUnacknowledged, so.Buffer.Dir, so.Buffer.MarkDir, so.Retention = write.Through, false, "", "", 0
	store, err := store.New(db, so)
	if err == nil {
		err = store.PinLayout(ctx)
	}
	return store, err
}

// Read opens tables that must exist, puts the log of an embedded store into them, and calls use with them and a store
// over them.
func Read(ctx context.Context, o Options, use func(db kv.KV, store *store.Store) error) error {
	db, engine, err := OpenExisting(o)
	if err != nil {
		return err
	}
	if o.Engine == EngineEmbedded {
		err = putLog(ctx, o, db)
	}
	var store *store.Store
	if err == nil {
		store, err = StoreOver(ctx, o, db)
	}
	if err == nil {
		err = use(db, store)
	}
	return errors.Join(err, engine.Close())
}

// WantEmbedded returns an error for other engines, which names their own way to do it.
func (o Options) WantEmbedded(what string) error {
	switch o.Engine {
	case EngineEmbedded:
		return nil
	case EngineHBase:
		return fmt.Errorf("%s is for the embedded engine; HBase has its own: snapshot, restore_snapshot and major_compact in its shell", what)
	}
	return fmt.Errorf("%s is for the embedded engine, not for --storage.engine=%s", what, o.Engine)
}

// WantStore returns an error if there is no embedded store.
func (o Options) WantStore() error {
	if _, err := os.Stat(o.Path); err != nil {
		return fmt.Errorf("--storage.path=%s: there is no store: %w", o.Path, err)
	}
	if names, err := filepath.Glob(filepath.Join(o.Path, "marker.manifest.*")); err != nil || len(names) == 0 {
		return fmt.Errorf("--storage.path=%s: there is no store", o.Path)
	}
	return nil
}

// openEmbedded opens an embedded store that must exist.
func openEmbedded(o Options) (kv.KV, *pebble.Engine, error) {
	if err := o.WantStore(); err != nil {
		return nil, nil, err
	}
	db, closer, err := Open(o, prometheus.NewRegistry(), 0)
	if err != nil {
		return nil, nil, err
	}
	engine, ok := closer.(*pebble.Engine)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%s is not the embedded engine", o.EngineName()), closer.Close())
	}
	return db, engine, nil
}

// Compact compacts an embedded store that no process has open.
func Compact(ctx context.Context, o Options) (admin.Sizes, error) {
	db, engine, err := openEmbedded(o)
	if err != nil {
		return admin.Sizes{}, err
	}
	sizes, err := admin.Compact(ctx, db, o.Tables())
	return sizes, errors.Join(err, engine.Close())
}

// BackUp copies an embedded store that no process has open into a folder that must not exist. First it puts the log that a
// crash has left into the tables, as a start would.
func BackUp(ctx context.Context, o Options, dir string) error {
	db, engine, err := openEmbedded(o)
	if err != nil {
		return err
	}
	if err = putLog(ctx, o, db); err == nil {
		err = fsutil.MakeDir(filepath.Dir(filepath.Clean(dir)))
	}
	if err == nil {
		err = engine.Checkpoint(ctx, dir)
	}
	return errors.Join(err, engine.Close())
}
