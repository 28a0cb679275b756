package storage

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// spansQualifier marks a store, in the counters' row, all of whose series were made by versions that keep spans: a series of such a store that has no span in
// tsdb-meta has no rows of points either. (An empty span in each new row of tsdb-meta would say the same, but two who see a series first
// at once could put it over the span of the first points.)
const spansQualifier = "tsdbridge.spans"

// beginSpans finds out, once, whether the store is so marked, and marks a store without series.
func (s *Store) beginSpans(ctx context.Context) error {
	p := s.spans
	if p == nil {
		return nil
	}
	p.begin.Lock()
	defer p.begin.Unlock()
	if p.begun {
		return nil
	}
	key := schema.MaxIDRow()
	rows, err := s.db.Get(ctx, s.o.Tables.UID, schema.FamilyID, [][]byte{key})
	if err != nil {
		return fmt.Errorf("look whether spans of series are kept: %w", err)
	}
	p.whole = slices.ContainsFunc(rows[0].Cells, func(c kv.Cell) bool { return string(c.Qualifier) == spansQualifier })
	if !p.whole {
		if p.whole, err = s.isEmpty(ctx); err != nil {
			return err
		}
		if p.whole {
			mark := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte(spansQualifier), Value: []byte{1}}}}
			if err := s.db.Apply(ctx, s.o.Tables.UID, schema.FamilyID, []kv.Mutation{mark}); err != nil {
				return fmt.Errorf("note that spans of series are kept: %w", err)
			}
		}
	}
	p.begun = true
	return nil
}

// isEmpty says whether there are neither series nor points.
func (s *Store) isEmpty(ctx context.Context) (bool, error) {
	for _, scan := range []kv.Scan{{Table: s.o.Tables.Meta, Family: schema.FamilyMeta}, {Table: s.o.Tables.Data, Family: schema.FamilyData}} {
		scan.KeysOnly, scan.Limit = true, 1
		for _, err := range s.db.Scan(ctx, scan) {
			if err != nil {
				return false, fmt.Errorf("look for a first row of %s: %w", scan.Table, err)
			}
			return false, nil
		}
	}
	return true, nil
}

// noteSpan notes the span that is in the row of a series. Without one it is none, if the store is whole, else unknown: any day.
func (s *Store) noteSpan(id index.ID, cells []kv.StoredCell) {
	for _, c := range cells {
		if c.Coded != nil {
			continue // a document
		}
		if first, last, ok := schema.ParseSpan(c.Qualifier, c.Value); ok {
			s.spans.of(id).read(daysOf(first, last))
			return
		}
		if string(c.Qualifier) == string(schema.SpanQualifier()) {
			s.spans.of(id).read(everyDay) // it says nothing that we know
			return
		}
	}
	if !s.spans.whole {
		s.spans.of(id).read(everyDay)
	}
}

// keepSpans sees to it that tsdb-meta has the days of all rows that the writer is about to put. Where the engine can be told without waiting for the
// disk it need not be waited for: the rows come later in the one sequence of changes, a crash leaves none of them without this.
func (w *writer) keepSpans(ctx context.Context) error {
	s := w.store
	if s.spans == nil {
		return nil
	}
	var wider []index.ID
	for i := range w.rows {
		id := w.rows[i].ref.ID()
		span := s.spans.of(id)
		widen(&span.now, dayOfRow(w.rows[i].base))
		if span.now.Load() != span.kept.Load() && (len(wider) == 0 || wider[len(wider)-1] != id) {
			wider = append(wider, id)
		}
	}
	if len(wider) == 0 {
		return nil
	}
	if err := s.putSpans(ctx, wider); err != nil {
		return fmt.Errorf("write the days of %d series: %w", len(wider), err)
	}
	return nil
}

// putSpans writes the spans of series, whose states are locked.
func (s *Store) putSpans(ctx context.Context, ids []index.ID) error {
	if !s.loaded.Load() { // what the table has is wider, perhaps
		if err := s.readSpans(ctx, ids); err != nil {
			return err
		}
	}
	spans := make([]days, len(ids))
	mutations := make([]kv.Mutation, len(ids))
	for i, key := range s.index.TSUIDBytes(nil, ids) {
		d := days(s.spans.of(ids[i]).now.Load())
		spans[i] = d
		mutations[i] = kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: schema.SpanQualifier(), Value: schema.EncodeSpan(d.first(), d.last())}}}
	}
	slices.SortFunc(mutations, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	if err := s.db.Put(ctx, s.o.Tables.Meta, schema.FamilyMeta, mutations); err != nil {
		return err
	}
	for i, id := range ids {
		widen(&s.spans.of(id).kept, spans[i])
	}
	return nil
}

// readSpans notes the spans of some series before all are loaded.
func (s *Store) readSpans(ctx context.Context, ids []index.ID) error {
	if err := s.beginSpans(ctx); err != nil {
		return err
	}
	rows, err := s.db.Get(ctx, s.o.Tables.Meta, schema.FamilyMeta, s.index.TSUIDBytes(nil, ids))
	if err != nil {
		return err
	}
	var cells []kv.StoredCell
	for i, row := range rows {
		cells = kv.AppendStored(cells[:0], row.Cells)
		s.noteSpan(ids[i], cells)
	}
	return nil
}
