package adapter

import (
	"context"
	"errors"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// openTablesThatAre opens tables that must exist.
func (o Options) openTablesThatAre() (kv.KV, io.Closer, error) {
	if o.Engine == EngineEmbedded {
		return o.openStoreThatIs()
	}
	return o.openEngine(prometheus.NewRegistry(), 0)
}

// storeOver returns a store over open tables that changes nothing by itself, and has no log.
func (o Options) storeOver(ctx context.Context, db kv.KV) (*storage.Store, error) {
	so := o.storageOptions()
	so.Mode, so.LogUnacknowledged, so.Buffer.Dir, so.Buffer.MarkDir, so.Retention = storage.WriteThrough, false, "", "", 0
	store, err := storage.New(db, so)
	if err == nil {
		err = store.PinLayout(ctx)
	}
	return store, err
}

// ReadTables opens tables that must exist, puts the log of an embedded store into them, and calls use with them and a store
// over them.
func (o Options) ReadTables(ctx context.Context, use func(db kv.KV, store *storage.Store) error) error {
	db, engine, err := o.openTablesThatAre()
	if err != nil {
		return err
	}
	if o.Engine == EngineEmbedded {
		err = putLog(ctx, o, db)
	}
	var store *storage.Store
	if err == nil {
		store, err = o.storeOver(ctx, db)
	}
	if err == nil {
		err = use(db, store)
	}
	return errors.Join(err, engine.Close())
}
