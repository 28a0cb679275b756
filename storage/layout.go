package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/storage/fit"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// ErrLayout means that the UID widths or the salt of the flags are not those of the tables; the
// text names the flags. No retry helps.
var ErrLayout = fit.ErrLayout

// awaitFit returns when shared tables are seen to fit the flags, or to be empty. While the engine
// is away it asks again.
func (s *Store) awaitFit(ctx context.Context) error {
	for {
		err := s.checkFit(ctx)
		if err == nil || errors.Is(err, ErrLayout) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if s.loading.Note(ctx, err) {
			s.o.Logger.Error("looking at the tables; trying again", "err", err)
		}
		if !retry.Sleep(ctx, min(s.o.IndexRefresh, time.Second)) {
			return nil
		}
	}
}

// checkFit compares shared tables with the flags until rows of all kinds were seen.
func (s *Store) checkFit(ctx context.Context) error {
	if s.fit == nil {
		return nil
	}
	return s.noteFit(s.fit.Check(ctx))
}

// noteFit remembers that the tables do not fit: nothing may be written any more.
func (s *Store) noteFit(err error) error {
	if errors.Is(err, ErrLayout) {
		s.unfit.Store(true)
		s.loading.Set(err)
	}
	return err
}

// PinLayout records the layout with which an exclusive store was made and refuses another one with
// an ErrLayout. Shared tables record nothing: there it checks some of their rows, as Run does.
func (s *Store) PinLayout(ctx context.Context) error {
	if !s.o.Exclusive {
		return s.checkFit(ctx)
	}
	column := kv.Column{
		Table: s.o.Tables.UID, Family: schema.FamilyID, Row: schema.MaxIDRow(), Qualifier: []byte(schema.LayoutQualifier),
	}
	_, err := s.db.CheckAndPut(ctx, column, nil, s.layout.Record())
	s.unpinned.Store(errors.Is(err, series.ErrFull)) // it is tried again before anything is loaded
	if err != nil {
		return err
	}
	rows, err := s.db.Get(ctx, column.Table, column.Family, [][]byte{column.Row})
	if err != nil {
		return err
	}
	for _, c := range rows[0].Cells {
		if string(c.Qualifier) == schema.LayoutQualifier {
			return s.checkLayout(c.Value)
		}
	}
	return errors.New("the store's layout was written and is not there")
}

// checkLayout refuses a recorded layout that is not the store's own.
func (s *Store) checkLayout(record []byte) error {
	made, err := schema.ParseLayout(record)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLayout, err)
	}
	if !made.SameRows(s.layout) {
		return fmt.Errorf("%w: the store was made with %s and cannot be read with %s",
			ErrLayout, layoutFlags(made), layoutFlags(s.layout))
	}
	return nil
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
