package write

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Flusher puts rows of the head into the table.
type Flusher struct {
	db      *kv.Engine
	buffer  *buffer
	table   *Table
	deleter *deleter
	shared  *sharedDeleter // nil: no other process writes to the table
	metrics *metrics

	mu sync.Mutex // held while rows of the head are put, and while parts of deletions are carried out
}

// run replays the log, and then puts the rows of the head that are due into the table until ctx
// ends.
func (f *Flusher) run(ctx context.Context) error {
	if err := f.recover(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ticker := time.NewTicker(f.buffer.o.CheckInterval)
	defer ticker.Stop()
	var flushed retry.Outcome
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		f.buffer.measure(f.deleter.count.Load() > 0)
		f.buffer.goOn(ctx)
		if err := errors.Join(f.buffer.numbers.save(ctx), f.Flush(ctx, f.due()), f.buffer.follow(ctx)); flushed.Note(ctx, err) {
			f.buffer.logger.Error("rows cannot be flushed, they stay in the log and are tried again; see TsdbridgeFlushFailing in docs/monitoring.md", "table", f.table.name, "err", err)
		}
	}
}

// FlushAll finishes all deletions and puts all rows.
func (f *Flusher) FlushAll(ctx context.Context) error {
	if err := f.deleter.take(ctx); err != nil {
		return err
	}
	defer f.deleter.release()
	err := f.Flush(ctx, head.Everything())
	if err != nil || len(f.deleter.jobs) == 0 {
		return err
	}
	if err := f.deleter.finish(ctx); err != nil {
		return fmt.Errorf("finish a deletion: %w", err)
	}
	return f.Flush(ctx, head.Everything())
}

// recover replays the log. Appends and deletions wait for it.
func (f *Flusher) recover(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.replay(ctx); err != nil {
		return err
	}
	close(f.buffer.ready)
	return nil
}

func (f *Flusher) replay(ctx context.Context) error {
	if f.shared == nil {
		return f.buffer.recover(ctx, f.deleter, nil)
	}
	filter, err := f.shared.newReplayFilter(ctx)
	if err != nil {
		return err
	}
	if err := f.buffer.recover(ctx, f.deleter, filter); err != nil {
		return err
	}
	f.shared.replayed(filter)
	return nil
}

// settleTime is how long a row of an hour long past waits for the rest of its points: a sender that
// fills in old data sends hour after hour, and each early put is a cell more.
const settleTime = 30 * time.Second

// due is the policy of the moment.
func (f *Flusher) due() head.Policy {
	o, now := f.buffer.o, f.buffer.now()
	p := head.Policy{
		EndedBefore: now.Add(-o.FlushDelay).UnixMilli(), OpenedBefore: now.Add(-o.FlushInterval), MaxBytes: max(o.MaxHeadBytes-f.buffer.agesBytes(), 1),
	}
	if settle := min(o.FlushDelay, settleTime); settle > 0 {
		p.SettledBefore = now.Add(-settle)
	}
	if f.buffer.log.Size() > o.MaxLogBytes/2 {
		p.MarkedBefore = f.buffer.log.End().Segment
	}
	return p
}

// localRows is how many rows are put into a local table at once: sorted by key, so that neighbours
// in the table are inserted one after the other. A row costs the less the more there are.
const localRows = 16 << 10

// Flush puts the rows that are due, and cuts the log. Rows that unfinished deletions touch are not
// due. One call at a time: when it returns, rows that were due before it began are in the table,
// which they would not be if another call still had them in hand.
func (f *Flusher) Flush(ctx context.Context, p head.Policy) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	put, begin := 0, time.Now()
	defer func() { f.buffer.metrics.flushed(begin, put, err) }()
	p.Except = f.deleter.touches()
	if f.shared == nil {
		p.Rows = localRows
	}
	p.Coded = f.db.Coded != nil
	if f.shared != nil && f.buffer.head.Stats().Rows > 0 {
		if err := f.shared.learnLocked(ctx); err != nil {
			return fmt.Errorf("look for deletions of other processes: %w", err)
		}
	}
	for sealed := range f.buffer.head.Seal(p) {
		if err := f.table.putRows(ctx, sealed.Rows, f.db.Put, f.buffer.agesOf); err != nil {
			sealed.Keep()
			return err
		}
		put += len(sealed.Rows)
		f.buffer.drop(sealed)
	}
	if put == 0 {
		return f.buffer.roll(ctx)
	}
	f.metrics.rowsFlushed.Add(float64(put))
	if err := f.db.Flush(ctx); err != nil {
		return fmt.Errorf("sync what was put: %w", err)
	}
	if err := f.buffer.truncate(ctx); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return f.buffer.roll(ctx)
}
