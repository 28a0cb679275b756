package catalog

import (
	"context"
	"encoding/hex"
	"time"

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
	return l.db.Rows.ScanStored(ctx, scan, func(key []byte, cells []kv.StoredCell) error {
		if id, ok := l.addMeta(key); ok {
			l.days.note(id, cells)
		}
		return nil
	})
}

// addMeta adds the series of a row of tsdb-meta; ok is false when it is no series.
func (l *Loader) addMeta(key []byte) (id index.ID, ok bool) {
	id, _, err := l.index.Add(key)
	if err != nil {
		l.o.Logger.Warn("row key in tsdb-meta is not a TSUID of the configured UID widths; skipped", "row", hex.EncodeToString(key), "err", err)
		return 0, false
	}
	l.registry.Note(id)
	return id, true
}
