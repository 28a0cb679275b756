package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/layoutcheck"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// tableLayout sees to it that nothing is read or written with a layout that is not the tables'.
type tableLayout struct {
	db        *kv.Engine
	table     string // of UIDs
	layout    schema.Layout
	exclusive bool
	fit       *layoutcheck.Checker // nil: no other process writes
	data      string               // the table of points
	loading   *retry.Outcome       // what keeps the store from answering
	refresh   time.Duration
	logger    *slog.Logger

	unpinned atomic.Bool // the layout could not be recorded yet
	unfit    atomic.Bool // neither the flags nor the servers may be used with the tables: nothing may be written
	proved   atomic.Bool // the servers can do what shared tables need
}

func newTableLayout(db *kv.Engine, o *Options, loading *retry.Outcome) *tableLayout {
	t := &tableLayout{
		db: db, table: o.Tables.UID, data: o.Tables.Data, layout: o.Layout, exclusive: o.Exclusive, loading: loading, refresh: o.IndexRefresh, logger: o.Logger,
	}
	if !o.Exclusive {
		t.fit = layoutcheck.New(db.KV, layoutcheck.Options{
			Data: o.Tables.Data, UID: o.Tables.UID, Meta: o.Tables.Meta, Layout: o.Layout, Logger: o.Logger,
		})
	}
	return t
}

// await returns when the servers are seen to be new enough, and shared tables to fit the flags, or
// to be empty. While the engine is away it asks again.
func (t *tableLayout) await(ctx context.Context) error {
	for {
		err := t.prove(ctx)
		if err == nil {
			err = t.check(ctx)
		}
		if err == nil || isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if t.loading.Note(ctx, err) {
			t.logger.Error("the tables cannot be looked at, which is tried again; see /-/ready", "err", err)
		}
		if !retry.Sleep(ctx, min(t.refresh, time.Second)) {
			return nil
		}
	}
}

// isFinal reports whether an error about the tables stays however often they are looked at.
func isFinal(err error) bool {
	return errors.Is(err, storage.ErrLayout) || errors.Is(err, storage.ErrUnsupported)
}

// prove asks once whether the servers can do what shared tables need.
func (t *tableLayout) prove(ctx context.Context) error {
	if t.db.Versioned == nil || t.proved.Load() {
		return nil
	}
	err := t.note(t.db.Versioned.Supported(ctx, t.data, schema.FamilyData))
	t.proved.Store(err == nil)
	return err
}

// check compares shared tables with the flags until rows of all kinds were seen.
func (t *tableLayout) check(ctx context.Context) error {
	if t.fit == nil {
		return nil
	}
	return t.note(t.fit.Check(ctx))
}

// note remembers that the tables do not fit, or that a server is too old: nothing may be written
// any more.
func (t *tableLayout) note(err error) error {
	if isFinal(err) {
		t.unfit.Store(true)
		t.loading.Set(err)
	}
	return err
}

// pin records the layout with which an exclusive store was made and refuses another one with
// an ErrLayout. Shared tables record nothing: there it checks some of their rows, as Run does.
func (t *tableLayout) pin(ctx context.Context) error {
	if !t.exclusive {
		return t.check(ctx)
	}
	column := kv.Column{
		Table: t.table, Family: schema.FamilyID, Row: schema.MaxIDRow(), Qualifier: []byte(own.LayoutQualifier),
	}
	_, err := t.db.CheckAndPut(ctx, column, nil, own.LayoutRecord(t.layout))
	t.unpinned.Store(errors.Is(err, storage.ErrFull)) // it is tried again before anything is loaded
	if err != nil {
		return err
	}
	rows, err := t.db.Get(ctx, column.Table, column.Family, [][]byte{column.Row})
	if err != nil {
		return err
	}
	for _, c := range rows[0].Cells {
		if string(c.Qualifier) == own.LayoutQualifier {
			return t.compare(c.Value)
		}
	}
	return errors.New("the store's layout was written and is not there")
}

// compare refuses a recorded layout that is not the store's own.
func (t *tableLayout) compare(record []byte) error {
	made, err := own.ParseLayout(record)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrLayout, err)
	}
	if !made.SameRows(t.layout) {
		return fmt.Errorf("%w: the store was made with %s and cannot be read with %s",
			storage.ErrLayout, layoutFlags(made), layoutFlags(t.layout))
	}
	return nil
}

// pinAgain records the layout if that could not be done at the start.
func (t *tableLayout) pinAgain(ctx context.Context) error {
	if !t.unpinned.Load() {
		return nil
	}
	return t.pin(ctx)
}

// beforeUID is asked before a UID is assigned in shared tables.
func (t *tableLayout) beforeUID(ctx context.Context, kind storage.NameKind, id int64) error {
	if err := t.prove(ctx); err != nil {
		return err
	}
	return t.note(t.fit.BeforeUID(ctx, kind, id))
}

// layoutFlags returns the flags that set a layout, for error texts. Nothing is recorded with them.
func layoutFlags(l schema.Layout) string {
	text := fmt.Sprintf("--storage.uid-width.metric=%d --storage.uid-width.tagk=%d --storage.uid-width.tagv=%d --storage.salt.width=%d",
		l.MetricWidth, l.TagkWidth, l.TagvWidth, l.SaltWidth)
	if l.SaltWidth > 0 {
		text += fmt.Sprintf(" --storage.salt.buckets=%d", l.SaltBuckets)
	}
	return text
}
