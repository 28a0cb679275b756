package closed

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/retry"
)

// cellsPerSecond bounds the cells that a process puts and deletes. Each deletion is a tombstone,
// which costs HBase as much as a put until a major compaction drops it.
const cellsPerSecond = 100_000

// brake slows the changes down: to cellsPerSecond, and to half of the time, so that a cluster that
// is slow gets as long a pause as its answer took.
type brake struct{ now func() time.Time }

func (b *brake) begin() time.Time { return b.now() }

// end waits after a batch that began at a time and changed some cells.
func (b *brake) end(ctx context.Context, begun time.Time, cells int) error {
	took := b.now().Sub(begun)
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
