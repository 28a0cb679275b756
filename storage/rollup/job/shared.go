package job

import (
	"context"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// On shared tables a late point is a cell with a new stamp in a row of an old hour. Stamps of cells that came by a log
// are those of their acknowledgement, so that a look goes back further than the last one did: by margin each lookEvery,
// and by deepMargin each deepEvery, for processes whose log waited for long. Values that have not changed are not
// written.
const (
	lookEvery  = time.Hour
	margin     = time.Hour
	deepEvery  = 24 * time.Hour
	deepMargin = 24 * time.Hour
)

// A look is when one began, milliseconds; deep, when it goes far back.
type look struct{ at, deep int64 }

// findLate notes what has changed in the hours that were filled, if a look is due. The look counts when what it found
// is filled.
func (f *Filler) findLate(ctx context.Context) (look, error) {
	now, s := f.o.Now().UnixMilli(), &f.state
	if s.Looked == 0 {
		return look{now, now}, nil // what is filled from now on is read after it
	}
	if now < s.Looked+lookEvery.Milliseconds() {
		return look{s.Looked, s.Deep}, nil
	}
	l, since := look{now, s.Deep}, s.Looked-margin.Milliseconds()
	if now >= s.Deep+deepEvery.Milliseconds() {
		l.deep, since = now, s.Deep-deepMargin.Milliseconds()
	}
	from, to := f.filledRange()
	if from >= to {
		return l, nil
	}
	if err := f.findCells(ctx, from, to, max(since, 1)); err != nil {
		return l, err
	}
	return l, f.findDeletions(ctx, max(since, 1))
}

// filledRange returns the hours in which late points count, seconds; to is no longer one.
func (f *Filler) filledRange() (from, to uint32) {
	for n, t := range f.state.Tasks {
		rule, interval := f.o.ruleOf(t)
		first := max(t.From, before(f.o.Now(), rule.Back, interval))
		if first -= first % schema.RowSeconds; n == 0 || first < from {
			from = first
		}
		to = max(to, t.Done)
	}
	f.late.passes(int64(to) * 1000)
	return from, to
}

// findCells notes the series of rows that have cells of a stamp or a later one.
func (f *Filler) findCells(ctx context.Context, from, to uint32, since int64) error {
	metrics, err := f.o.Catalog.NamedMetrics(ctx, int64(from)*1000, int64(to)*1000-1)
	if err != nil {
		return err
	}
	for _, metric := range metrics {
		if !f.mayHave(metric) {
			continue
		}
		uid, err := f.o.Lookup(ctx, metric)
		if err != nil {
			return err
		}
		if uid == "" {
			continue
		}
		for bucket := range f.o.Layout.Buckets() {
			scan := kv.Scan{
				Table: f.o.Data, Family: schema.FamilyData, KeysOnly: true, Since: since,
				Start: f.o.Layout.AppendRangeKey(nil, bucket, []byte(uid), from), Stop: f.o.Layout.AppendRangeKey(nil, bucket, []byte(uid), to),
			}
			if err := f.findRows(ctx, scan); err != nil {
				return err
			}
		}
		if f.o.Now().Sub(f.saved) >= leaseTime/2 {
			if err := f.save(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayHave reports whether series of a metric may match a rule.
func (f *Filler) mayHave(metric string) bool {
	for n := range f.o.Rules {
		if storage.MayHave(f.o.Rules[n].Filters, metric) {
			return true
		}
	}
	return false
}

func (f *Filler) findRows(ctx context.Context, scan kv.Scan) error {
	var tsuid []byte
	for row, err := range f.o.DB.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("look for late points in %s: %w", scan.Table, err)
		}
		key, err := f.o.Layout.ParseRowKey(row.Key)
		if err != nil {
			continue // a row of others
		}
		tsuid = key.AppendTSUID(tsuid[:0])
		one := lateOf(string(tsuid), f.o.Layout, key.Base)
		if err := f.late.put(ctx, []late{one}, false); err != nil {
			return err
		}
	}
	return nil
}

// findDeletions notes the series of deletions that others or this process have made.
func (f *Filler) findDeletions(ctx context.Context, since int64) error {
	entries, bad, err := f.journal.Entries(ctx, since)
	if err != nil {
		return err
	}
	for _, err := range bad {
		f.o.Logger.Warn("a deletion cannot be read, so the rollup tables may have values of deleted points; run the same version of all adapters, then delete again", "err", err)
	}
	for _, e := range entries {
		err := f.journal.Series(ctx, e, func(tsuids [][]byte) error {
			list := make([]string, len(tsuids))
			for i := range tsuids {
				list[i] = string(tsuids[i])
			}
			return f.late.Deletion(ctx, list, e.Start, e.End)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
