package uid

import (
	"context"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Measure reads how many UIDs of each kind are assigned; others count them up too.
func (d *Dictionary) Measure(ctx context.Context) error {
	rows, err := d.db.Get(ctx, d.table, schema.FamilyID, [][]byte{schema.MaxIDRow()})
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
			return fmt.Errorf("counter of %s UIDs in table %s: %w", kind, d.table, err)
		}
		d.drawn(kind, n)
	}
	return nil
}

// drawn notes an id that was drawn.
func (d *Dictionary) drawn(kind storage.NameKind, id int64) {
	for {
		last := d.last[kind].Load()
		if id <= last || d.last[kind].CompareAndSwap(last, id) {
			return
		}
	}
}

// most is how many UIDs there are of a kind.
func (d *Dictionary) most(kind storage.NameKind) int64 {
	width := d.layout.Width(kind)
	if width >= 8 {
		return math.MaxInt64
	}
	return 1<<(8*width) - 1
}

// Used returns the share of the UIDs of a kind that is assigned, as far as this process knows: 0 to
// 1.
func (d *Dictionary) Used(kind storage.NameKind) float64 {
	return min(1, float64(d.last[kind].Load())/float64(d.most(kind)))
}

// Exhausted returns an ErrExhausted when no UID of a kind is left, as far as this process knows.
func (d *Dictionary) Exhausted(kind storage.NameKind) error {
	if d.last[kind].Load() < d.most(kind) {
		return nil
	}
	return d.exhausted(kind)
}

// exhausted has the words of a TSD.
func (d *Dictionary) exhausted(kind storage.NameKind) error {
	return fmt.Errorf("%w: All Unique IDs for %s on %d bytes are already assigned! (--storage.uid-width.%s)", ErrExhausted, kind, d.layout.Width(kind), kind)
}
