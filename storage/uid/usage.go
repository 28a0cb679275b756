package uid

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// usage is how many UIDs are assigned, as far as this process knows.
type usage struct {
	*mappings
	layout schema.Layout
	last   [3]atomic.Int64 // by kind: the greatest id drawn that is known of
}

// Measure reads how many UIDs of each kind are assigned; others count them up too.
func (u *usage) Measure(ctx context.Context) error {
	rows, err := u.db.Get(ctx, u.table, schema.FamilyID, [][]byte{schema.MaxIDRow()})
	if err != nil {
		return fmt.Errorf("read the counters of UIDs: %w", err)
	}
	for _, kind := range storage.NameKinds() {
		raw := cell(rows[0], schema.UIDQualifier(kind))
		if raw == nil {
			continue
		}
		n, err := schema.DecodeCounter(raw)
		if err != nil {
			return fmt.Errorf("counter of %s UIDs in table %s: %w", kind, u.table, err)
		}
		u.drawn(kind, n)
	}
	return nil
}

// drawn notes an id that was drawn.
func (u *usage) drawn(kind storage.NameKind, id int64) {
	for {
		last := u.last[kind].Load()
		if id <= last || u.last[kind].CompareAndSwap(last, id) {
			return
		}
	}
}

// most is how many UIDs there are of a kind.
func (u *usage) most(kind storage.NameKind) int64 {
	width := u.layout.Width(kind)
	if width >= 8 {
		return math.MaxInt64
	}
	return 1<<(8*width) - 1
}

// Used returns the share of the UIDs of a kind that is assigned, as far as this process knows: 0 to
// 1.
func (u *usage) Used(kind storage.NameKind) float64 {
	return min(1, float64(u.last[kind].Load())/float64(u.most(kind)))
}

// Exhausted returns an ErrExhausted when no UID of a kind is left, as far as this process knows.
func (u *usage) Exhausted(kind storage.NameKind) error {
	if u.last[kind].Load() < u.most(kind) {
		return nil
	}
	return u.exhausted(kind)
}

// exhausted has the words of a TSD.
func (u *usage) exhausted(kind storage.NameKind) error {
	return fmt.Errorf("%w: All Unique IDs for %s on %d bytes are already assigned! (--storage.uid-width.%s)", ErrExhausted, kind, u.layout.Width(kind), kind)
}
