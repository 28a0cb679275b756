package compact

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// cellsPerSecond bounds the cells that a process puts and deletes. Each deletion is a tombstone,
// which costs HBase as much as a put until a major compaction drops it.
const cellsPerSecond = 100_000

// brake slows the changes down: to cellsPerSecond, and to half of the time, so that a cluster that
// is slow gets as long a pause as its answer took.
type brake struct{ now func() time.Time }

func (b *brake) begin() time.Time { return b.now() }

// end waits after changes that were begun at a time.
func (b *brake) end(ctx context.Context, begun time.Time, changes []row.Compaction) error {
	took, cells := b.now().Sub(begun), 0
	for i := range changes {
		cells += len(changes[i].Puts) + len(changes[i].Deletes)
	}
	if !retry.Sleep(ctx, pause(took, cells)) {
		return ctx.Err()
	}
	return nil
}

// pause is how long to wait after a batch that took some time.
func pause(took time.Duration, cells int) time.Duration {
	least := time.Duration(cells) * time.Second / cellsPerSecond
	return max(least-took, took)
}
