package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// oldTables are shared tables whose servers are too old, or away before they tell.
type oldTables struct {
	*kv.Shared

	away atomic.Int64 // how often they do not answer first
}

var errAway = errors.New("no answer")

func (o *oldTables) Supported(context.Context, string, string) error {
	if o.away.Add(-1) >= 0 {
		return errAway
	}
	return fmt.Errorf("%w: the server is from 2019", storage.ErrUnsupported)
}

// TestUnsupportedServers: a store on servers that are too old writes nothing and ends with the
// reason, also if they were away first.
func TestUnsupportedServers(t *testing.T) {
	for _, away := range []int64{0, 3} {
		db := &oldTables{Shared: kv.NewShared(storetest.Tables()...)}
		fillTables(t, db.Shared)
		before := cellsOf(t, db)
		db.away.Store(away)
		o := store.DefaultOptions()
		shared(&o)
		s, err := store.New(db, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, errs := s.Resolve(t.Context(), []storage.Series{storetest.Series("new", "host", "a")}); errs == nil || storage.IsRefusal(errs[0]) {
			t.Errorf("Resolve = %v, want an error that is not for good for the point", errs)
		}
		if err := s.Run(t.Context()); !errors.Is(err, storage.ErrUnsupported) || !strings.Contains(err.Error(), "2019") {
			t.Errorf("Run = %v", err)
		}
		if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrUnsupported) {
			t.Errorf("Ready = %v", err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, cellsOf(t, db)); diff != "" {
			t.Errorf("the tables have changed:\n%s", diff)
		}
	}
}
