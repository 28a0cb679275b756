package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// putLog puts the content of a store's log into its tables, if there is a log.
func putLog(ctx context.Context, o Options, db kv.KV) error {
	so := o.StoreOptions()
	if held, err := so.HoldsLog(db); err != nil || !held {
		return err
	}
	so.Mode, so.Retention = write.Buffered, 0
	store, err := store.New(db, so)
	if err != nil {
		return err
	}
	if err := errors.Join(replay(ctx, store), store.Close(ctx)); err != nil {
		return fmt.Errorf("put the log in %s into the tables: %w", o.LogFolder(), err)
	}
	return nil
}

// replay runs a store until it has read its log.
func replay(ctx context.Context, store *store.Store) error {
	if err := store.PinLayout(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan error, 1)
	go func() {
		err := store.Run(ctx)
		stop(err)
		done <- err
	}()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	err := store.Ready(ctx)
	for ; err != nil && ctx.Err() == nil; err = store.Ready(ctx) {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	stop(nil)
	if runErr := <-done; runErr != nil {
		return runErr
	}
	return err
}
