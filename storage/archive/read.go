package archive

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Read calls use, from several goroutines, with slots of each series that has any: several times for
// one, each time with other slots, which are valid until use returns.
func (a *Archives) Read(ctx context.Context, q storage.ArchiveQuery, use func(ref storage.Ref, times []int64, values []float64)) error {
	if err := a.o.Ready(); err != nil {
		return err
	}
	q.From, q.To = max(q.From, 0), min(q.To, 1<<32)
	if q.From >= q.To || len(q.Refs) == 0 || q.Step == 0 {
		return nil
	}
	known := a.o.Series.Len()
	for _, ref := range q.Refs {
		if err := ref.Check(known); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var part []wantedRow
	flush := func() {
		some := part
		part = nil
		group.Go(func() error { return a.read(ctx, &q, some, use) })
	}
	span := int64(q.Step) * columns.ArchiveSlots
	for _, ref := range q.Refs {
		for base := int64(columns.ArchiveBase(uint32(q.From), q.Step)); base < q.To && ctx.Err() == nil; base += span {
			if part = append(part, wantedRow{ref, uint32(base)}); len(part) == rowsAtOnce {
				flush()
			}
		}
	}
	if len(part) > 0 {
		flush()
	}
	err := group.Wait()
	if errors.Is(err, kv.ErrNoTable) {
		return nil // nothing was ever put
	}
	if err != nil {
		return fmt.Errorf("read archives: %w", err)
	}
	return nil
}

// A wantedRow is a row of a series.
type wantedRow struct {
	ref  storage.Ref
	base uint32
}

// read reads some rows.
func (a *Archives) read(ctx context.Context, q *storage.ArchiveQuery, part []wantedRow, use func(storage.Ref, []int64, []float64)) error {
	keys := make([][]byte, len(part))
	for i, w := range part {
		keys[i] = a.o.Layout.AppendRowKey(nil, []byte(a.o.Series.TSUID(index.IDOf(w.ref))), w.base)
	}
	rows, err := a.o.DB.Get(ctx, a.o.Table, schema.FamilyData, keys)
	if err != nil {
		return err
	}
	counts := query.Counts{Asked: int64(len(keys))}
	defer func() { query.TallyOf(ctx).Add(query.Archive, counts) }()
	qualifier := columns.ArchiveQualifier(q.Step)
	var decoder columns.Decoder
	var times []int64
	var values []float64
	for i, w := range part {
		cell := cellOf(rows[i], qualifier)
		if cell == nil {
			continue
		}
		counts.Rows++
		counts.Cells++
		counts.Bytes += int64(len(cell))
		if times, values, err = decoder.AppendArchive(times[:0], values[:0], cell, w.base, q.Step); err != nil {
			return a.unreadable(fmt.Errorf("row %x of %s, cell %x, cannot be read: %w; tsdbridge fsck finds it, and --fix=bad-archive deletes the cell",
				keys[i], a.o.Table, qualifier, err))
		}
		from, to := 0, len(times)
		for from < to && times[from] < q.From {
			from++
		}
		for from < to && times[to-1] >= q.To {
			to--
		}
		if from < to {
			use(w.ref, times[from:to], values[from:to])
		}
	}
	return nil
}
