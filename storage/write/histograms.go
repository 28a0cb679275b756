package write

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// PutHistograms puts histograms of OpenTSDB into the rows of their series. It returns when all of them are
// durable; after an error any of them may be. Of two of one cell the later stays. They do not go through the
// log in any mode: a log of points has no place for the cells of a TSD.
func (w *Writer) PutHistograms(ctx context.Context, all []storage.CodedHistogram) error {
	if len(all) == 0 {
		return nil
	}
	b, rows, err := w.checkHistograms(all)
	if err != nil {
		return err
	}
	if err := w.Replayed(); err != nil {
		return err // the log may have deletions
	}
	if err := w.diskSpace(); err != nil {
		return err
	}
	begin := time.Now()
	if err := w.deleter.enterNew(ctx, b, rows); err != nil {
		return err
	}
	defer w.deleter.leave()
	if err := w.table.widen(ctx, rows); err != nil {
		return err
	}
	readable, err := w.late(ctx, b)
	if err != nil {
		return err
	}
	defer readable()
	defer w.o.Changes.Batch(b) // also after an error: some of it may be there
	if err := w.o.DB.Apply(ctx, w.o.Tables.Data, schema.FamilyData, w.table.histogramRows(all)); err != nil {
		return fmt.Errorf("write histograms: %w", err)
	}
	w.metrics.histograms.Add(float64(len(all)))
	w.metrics.appendSeconds.Observe(time.Since(begin).Seconds())
	return nil
}

// checkHistograms returns the times of histograms as a batch, and their rows, each once.
func (w *Writer) checkHistograms(all []storage.CodedHistogram) (*storage.Batch, []SeriesRow, error) {
	b, known := &storage.Batch{}, w.o.Series.Len()
	rows, seen := []SeriesRow(nil), map[SeriesRow]bool{}
	for i := range all {
		h := &all[i]
		if err := checkDatum(h.Ref, h.Time, known); err != nil {
			return nil, nil, err
		}
		if n := len(h.Value); n == 0 || n > storage.MaxHistogramBytes {
			return nil, nil, fmt.Errorf("%w: histogram of %d bytes; it may have %d", storage.ErrLimit, n, storage.MaxHistogramBytes)
		}
		b.Add(h.Ref, h.Time, 0)
		if r := (SeriesRow{ID: index.IDOf(h.Ref), Base: schema.Base(h.Time)}); !seen[r] {
			rows, seen[r] = append(rows, r), true
		}
	}
	return b, rows, nil
}

// histogramRows makes the mutations of histograms, in the order of their keys.
func (t *Table) histogramRows(all []storage.CodedHistogram) []kv.Mutation {
	stamp := int64(0)
	if t.db.Versioned != nil {
		stamp = t.stamps.now() // deletions go by these
	}
	mutations, at := make([]kv.Mutation, 0, len(all)), map[SeriesRow]int{}
	for i := range all {
		h := &all[i]
		base, qualifier := schema.HistogramCell(h.Time, h.Millis)
		r := SeriesRow{ID: index.IDOf(h.Ref), Base: base}
		n, ok := at[r]
		if !ok {
			n = len(mutations)
			at[r] = n
			mutations = append(mutations, kv.Mutation{Key: t.layout.AppendRowKey(nil, []byte(t.index.TSUID(r.ID)), base)})
		}
		mutations[n].Puts = append(mutations[n].Puts, kv.Put{Qualifier: qualifier, Value: h.Value, Time: stamp})
	}
	for i := range mutations {
		mutations[i].Puts = lastOfEach(mutations[i].Puts)
	}
	slices.SortFunc(mutations, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	return mutations
}

// lastOfEach orders puts by their qualifiers, and keeps the last of each.
func lastOfEach(puts []kv.Put) []kv.Put {
	slices.SortStableFunc(puts, func(a, b kv.Put) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	kept := puts[:0]
	for i, p := range puts {
		if i+1 < len(puts) && bytes.Equal(p.Qualifier, puts[i+1].Qualifier) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// enterNew is enter for cells that are put without the log: while a deletion of one of their rows is
// unfinished it is an ErrNotReady, because they would be deleted too. Without an error the caller must leave.
func (d *deleter) enterNew(ctx context.Context, b *storage.Batch, rows []SeriesRow) error {
	for {
		if err := d.enter(ctx, b); err != nil {
			return err
		}
		if d.count.Load() == 0 {
			return nil
		}
		d.leave()
		if err := d.enterBeside(ctx, rows); err != nil {
			return err
		}
		if d.registry.Forgotten() == 0 || len(d.gone(b)) == 0 {
			return nil
		}
		d.leave()
	}
}
