package catalog

import (
	"context"
	"encoding/hex"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// RefreshMargin is how far a refresh reaches back before the begin of the last one: for clocks of
// region servers that differ from ours, and for cells that were on their way.
const RefreshMargin = 5 * time.Minute

// Loader reads the series and the names of the tables into a Catalog, and what other processes
// change of them.
type Loader struct {
	*Catalog
	// BeforeAll is called before all is read of a table that no other process writes to.
	BeforeAll func(context.Context) error
}

// Load takes in what the tables have (since 0), or what other processes changed at or after since
// (milliseconds).
func (l *Loader) Load(ctx context.Context, since int64) error {
	if err := l.refreshNames(ctx, since); err != nil {
		return err
	}
	return l.loadIndex(ctx, since)
}

// loadIndex adds the series whose tsdb-meta rows were written at or after since (milliseconds; 0:
// ever).
func (l *Loader) loadIndex(ctx context.Context, since int64) error {
	begin := l.o.Now()
	scan := kv.Scan{Table: l.o.Tables.Meta, Family: schema.FamilyMeta}
	if l.days != nil {
		if err := l.loadAlone(ctx, scan); err != nil {
			return err
		}
	} else {
		scan.KeysOnly, scan.Since = true, since
		for row, err := range l.db.Scan(ctx, scan) {
			if err != nil {
				return err
			}
			l.addMeta(row.Key)
		}
		l.births.begin(begin)
	}
	l.metrics.refreshSeconds.Observe(l.o.Now().Sub(begin).Seconds())
	return nil
}

// loadAlone adds all series, and their days, of a table that no other process writes to.
func (l *Loader) loadAlone(ctx context.Context, scan kv.Scan) error {
	if err := l.BeforeAll(ctx); err != nil {
		return err
	}
	if err := l.days.Begin(ctx); err != nil {
		return err
	}
	rows, done := make(chan *metaRows), make(chan *metaRows, 2)
	done <- &metaRows{}
	done <- &metaRows{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(rows)
		return l.readMeta(ctx, scan, rows, done)
	})
	group.Go(func() error {
		var ids []index.ID
		for r := range rows {
			ids = l.addRows(ids[:0], r)
			done <- r
		}
		return nil
	})
	return group.Wait()
}

// metaRows is rows of tsdb-meta on their way to the index.
type metaRows struct {
	tsuids []byte // one after the other
	ends   []int  // of the TSUIDs
	days   []days
	born   []uint32
}

// metaRowsAtOnce is how many rows are added to the index under one lock.
const metaRowsAtOnce = 1024

// readMeta sends the rows of a scan, in its order, while those before are added to the index. It
// uses the memory that comes back by done.
func (l *Loader) readMeta(ctx context.Context, scan kv.Scan, to chan<- *metaRows, done <-chan *metaRows) error {
	r := <-done
	send := func() error {
		select {
		case to <- r:
			r = <-done
			r.tsuids, r.ends, r.days = r.tsuids[:0], r.ends[:0], r.days[:0]
			r.born = r.born[:0]
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := l.db.Rows.ScanStored(ctx, scan, func(key []byte, cells []kv.StoredCell) error {
		if !l.isTSUID(key) {
			return nil
		}
		r.tsuids = append(r.tsuids, key...)
		r.ends = append(r.ends, len(r.tsuids))
		r.days = append(r.days, l.days.ofRow(cells))
		r.born = append(r.born, bornOfRow(cells))
		if len(r.ends) < metaRowsAtOnce {
			return nil
		}
		return send()
	})
	if err != nil {
		return err
	}
	return send()
}

// addRows adds the series of rows, and their days.
func (l *Loader) addRows(ids []index.ID, r *metaRows) []index.ID {
	ids = l.index.AddAll(ids, r.tsuids, r.ends)
	for i, id := range ids {
		l.registry.Note(id)
		l.days.keep(id, r.days[i])
		l.births.days.Of(id).Store(r.born[i])
	}
	return ids
}

// addMeta adds the series of a row of tsdb-meta, if it is one.
func (l *Loader) addMeta(key []byte) {
	if !l.isTSUID(key) {
		return
	}
	if id, _, err := l.index.Add(key); err == nil {
		known := l.registry.Of(id).Exists()
		if l.registry.Note(id); !known {
			l.births.came(id, l.o.Now())
		}
	}
}

// isTSUID reports whether the key of a row of tsdb-meta is a TSUID. It logs one that is not.
func (l *Loader) isTSUID(key []byte) bool {
	_, _, err := l.o.Layout.ParseTSUID(key)
	if err != nil {
		l.o.Logger.Warn("row key in tsdb-meta is not a TSUID of the configured UID widths, and is skipped; compare --storage.uid-width.* with the TSD's, or remove the row", "row", hex.EncodeToString(key), "err", err)
	}
	return err == nil
}
