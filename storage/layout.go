package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/fit"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// layoutQualifier is where a store that only tsdbridge uses remembers its layout, in the counters' row. OpenTSDB's
// tables record it nowhere, and a wrong salt just finds nothing.
const layoutQualifier = "tsdbridge.layout"

// ErrLayout says that the UID widths or the salt of the flags are not those of the tables; the text names the flags. No retry helps.
var ErrLayout = fit.ErrLayout

// awaitFit returns when shared tables are seen to fit the flags, or to be empty. While the engine is away it asks again.
func (s *Store) awaitFit(ctx context.Context) error {
	for {
		err := s.checkFit(ctx)
		if err == nil || errors.Is(err, ErrLayout) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if s.setLoadErr(err) {
			s.o.Logger.Error("looking at the tables; trying again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(s.o.IndexRefresh, time.Second)):
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
		s.setLoadErr(err)
	}
	return err
}

// PinLayout records the layout with which an exclusive store was made and refuses another (with an ErrLayout). Shared tables record nothing: it looks
// at some of their rows, as Run does.
func (s *Store) PinLayout(ctx context.Context) error {
	if !s.o.Exclusive {
		return s.checkFit(ctx)
	}
	column := kv.Column{Table: s.o.Tables.UID, Family: schema.FamilyID, Row: schema.MaxIDRow(), Qualifier: []byte(layoutQualifier)}
	want := describeLayout(s.layout)
	_, err := s.db.CheckAndPut(ctx, column, nil, []byte(want))
	s.unpinned.Store(errors.Is(err, ErrFull)) // it is tried again before anything is loaded
	if err != nil {
		return err
	}
	rows, err := s.db.Get(ctx, column.Table, column.Family, [][]byte{column.Row})
	if err != nil {
		return err
	}
	for _, c := range rows[0].Cells {
		if string(c.Qualifier) == layoutQualifier {
			if string(c.Value) != want {
				return fmt.Errorf("%w: the store was made with %s and cannot be read with %s", ErrLayout, c.Value, want)
			}
			return nil
		}
	}
	return errors.New("the store's layout was written and is not there")
}

func describeLayout(l schema.Layout) string {
	text := fmt.Sprintf("--storage.uid-width.metric=%d --storage.uid-width.tagk=%d --storage.uid-width.tagv=%d --storage.salt.width=%d",
		l.MetricWidth, l.TagkWidth, l.TagvWidth, l.SaltWidth)
	if l.SaltWidth > 0 {
		text += fmt.Sprintf(" --storage.salt.buckets=%d", l.SaltBuckets)
	}
	return text
}
