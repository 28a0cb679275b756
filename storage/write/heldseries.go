package write

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// heldSeries are series to which nothing is appended, and beside whose points nothing is put, while a
// deletion asks the tables for them. Other series are appended to meanwhile, since that may take long.
type heldSeries struct {
	order *sync.RWMutex // deleter.order; guards holds
	holds []*hold
}

type hold struct {
	ids  []index.ID // ascending
	over chan struct{}
}

// longestHold bounds how long a deletion may ask the tables: a cluster that is away must not stop
// those that append to the log.
const longestHold = 30 * time.Second

// while calls act when no append to some series is under way, and lets none begin until it returns.
func (h *heldSeries) while(ctx context.Context, ids []index.ID, act func(ctx context.Context) error) error {
	held := &hold{ids: slices.Sorted(slices.Values(ids)), over: make(chan struct{})}
	h.order.Lock()
	h.holds = append(h.holds, held)
	h.order.Unlock()
	defer func() {
		h.order.Lock()
		defer h.order.Unlock()
		h.holds = slices.DeleteFunc(h.holds, func(other *hold) bool { return other == held })
		close(held.over)
	}()
	ctx, cancel := context.WithTimeout(ctx, longestHold)
	defer cancel()
	return act(ctx)
}

// of returns the hold of a series of a batch; nil: there is none. The caller holds order.
func (h *heldSeries) of(b *storage.Batch) *hold {
	for _, held := range h.holds {
		has := func(ref storage.Ref) bool { return held.has(index.IDOf(ref)) }
		if slices.ContainsFunc(b.Refs, has) || slices.ContainsFunc(b.Objects, func(o storage.Object) bool { return has(o.Ref) }) {
			return held
		}
	}
	return nil
}

// ofRows is of for rows.
func (h *heldSeries) ofRows(rows []SeriesRow) *hold {
	for _, held := range h.holds {
		if slices.ContainsFunc(rows, func(r SeriesRow) bool { return held.has(r.ID) }) {
			return held
		}
	}
	return nil
}

func (h *hold) has(id index.ID) bool {
	_, ok := slices.BinarySearch(h.ids, id)
	return ok
}

// wait returns when the hold is over.
func (h *hold) wait(ctx context.Context) error {
	select {
	case <-h.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: series of the batch are being deleted", storage.ErrNotReady)
	}
}
