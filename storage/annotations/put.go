package annotations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Put writes annotations, and returns them as they are stored then, in the same order. An earlier
// start that means the same moment stays. It returns when all of it is durable; no edit that others
// make at the same time is lost. Nothing is written if one of them is invalid or too large. After
// another error any of them may have been written.
func (a *Annotations) Put(ctx context.Context, mode storage.AnnotationMode, notes []storage.Annotation) ([]storage.Annotation, error) {
	if err := a.o.Ready(); err != nil {
		return nil, err
	}
	e := &edits{mode: mode, stored: make([]storage.Annotation, len(notes))}
	var known []write.SeriesRow
	for i, note := range notes {
		p, err := a.placeOf(note.TSUID, note.Start)
		if err != nil {
			return nil, err
		}
		if n := len(schema.AppendAnnotation(nil, note)); n > MaxBytes {
			return nil, fmt.Errorf("%w: an annotation of %d bytes; it may have %d", storage.ErrLimit, n, MaxBytes)
		}
		e.add(p, i, note)
		if row, ok := a.row(&p); ok {
			known = append(known, row)
		}
	}
	if len(notes) == 0 {
		return e.stored, nil
	}
	slices.SortFunc(e.rows, func(a, b *rowEdit) int { return bytes.Compare(a.key, b.key) })
	put := a.putShared
	if a.o.DB.Local != nil {
		put = a.putLocal
	}
	if err := a.o.Beside(ctx, known, func() error { return put(ctx, e) }); err != nil {
		return nil, err
	}
	return e.stored, nil
}

// edits are those of one call, by their rows and cells.
type edits struct {
	mode   storage.AnnotationMode
	rows   []*rowEdit
	byKey  map[string]*rowEdit
	stored []storage.Annotation // what the call returns
}

type rowEdit struct {
	key     []byte
	columns []*columnEdit
	by      map[string]*columnEdit
}

// columnEdit is the edits of one annotation, in their order.
type columnEdit struct {
	qualifier []byte
	notes     []storage.Annotation
	at        []int // of notes in the call
}

func (e *edits) add(p place, at int, note storage.Annotation) {
	if e.byKey == nil {
		e.byKey = map[string]*rowEdit{}
	}
	r := e.byKey[string(p.key)]
	if r == nil {
		r = &rowEdit{key: p.key, by: map[string]*columnEdit{}}
		e.byKey[string(p.key)] = r
		e.rows = append(e.rows, r)
	}
	c := r.by[string(p.qualifier)]
	if c == nil {
		c = &columnEdit{qualifier: p.qualifier}
		r.by[string(p.qualifier)] = c
		r.columns = append(r.columns, c)
	}
	c.notes, c.at = append(c.notes, note), append(c.at, at)
}

func (e *edits) keys() [][]byte {
	keys := make([][]byte, len(e.rows))
	for i, r := range e.rows {
		keys[i] = r.key
	}
	return keys
}

// edited returns the document of a column after its edits. raw is what is stored, nil for nothing.
func (e *edits) edited(c *columnEdit, raw []byte) ([]byte, error) {
	now, ok := parsed(raw)
	for i, note := range c.notes {
		if ok {
			if e.mode == storage.CreateAnnotation && !bytes.Equal(raw, schema.AppendAnnotation(nil, note)) { // else an answer to a put was lost
				return nil, fmt.Errorf("%w: of series %q at %d", storage.ErrAnnotationExists, note.TSUID, note.Start)
			}
			note = merged(e.mode, now, note)
		}
		now, ok = note, true
		e.stored[c.at[i]] = note
	}
	document := schema.AppendAnnotation(nil, now)
	if len(document) > MaxBytes {
		return nil, fmt.Errorf("%w: an annotation of %d bytes, with what is stored; it may have %d", storage.ErrLimit, len(document), MaxBytes)
	}
	return document, nil
}

// merged returns an annotation after an edit, as OpenTSDB's Annotation.syncNote does it.
func merged(mode storage.AnnotationMode, stored, note storage.Annotation) storage.Annotation {
	if stored.Start > 0 && stored.Start < note.Start {
		note.Start = stored.Start
	}
	if mode != storage.MergeAnnotation {
		return note
	}
	if note.End == 0 {
		note.End = stored.End
	}
	if note.Description == "" {
		note.Description = stored.Description
	}
	if note.Notes == "" {
		note.Notes = stored.Notes
	}
	if note.Custom == nil {
		note.Custom = stored.Custom
	}
	return note
}

// putLocal makes edits as one change.
func (a *Annotations) putLocal(ctx context.Context, e *edits) error {
	keys := e.keys()
	defer a.lock(keys)()
	held, err := a.read(ctx, keys)
	if err != nil {
		return err
	}
	mutations := make([]kv.Mutation, len(e.rows))
	for i, r := range e.rows {
		if mutations[i], err = e.mutation(r, held[i]); err != nil {
			return err
		}
	}
	if err := a.o.DB.Apply(ctx, a.o.Table, schema.FamilyData, mutations); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	return nil
}

func (e *edits) mutation(r *rowEdit, cells []kv.Cell) (kv.Mutation, error) {
	m := kv.Mutation{Key: r.key}
	for _, c := range r.columns {
		document, err := e.edited(c, valueOf(cells, c.qualifier))
		if err != nil {
			return m, err
		}
		m.Puts = append(m.Puts, kv.Put{Qualifier: c.qualifier, Value: document})
	}
	return m, checkRow(cells, m.Puts)
}

// checkRow keeps the annotations of a row within their bound. What is replaced counts too.
func checkRow(cells []kv.Cell, puts []kv.Put) error {
	n := 0
	for _, c := range cells {
		n += len(c.Value)
	}
	for _, p := range puts {
		n += len(p.Value)
	}
	if n > MaxRowBytes {
		return fmt.Errorf("%w: the annotations of a series or the global ones may have %d bytes in an hour", storage.ErrLimit, MaxRowBytes)
	}
	return nil
}

// On tables that others write to, each annotation is compared and put by itself.
const (
	concurrentPuts = 16 // each is a round trip
	putAttempts    = 8  // against others who edit the same annotation
)

var errContested = errors.New("others edited an annotation again and again")

// putShared makes edits of one annotation after the other.
func (a *Annotations) putShared(ctx context.Context, e *edits) error {
	for rows := range slices.Chunk(e.rows, rowsPerGet) {
		some := edits{rows: rows}
		held, err := a.read(ctx, some.keys())
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(concurrentPuts)
		for i, r := range rows {
			if _, err := e.mutation(r, held[i]); err != nil {
				return errors.Join(err, group.Wait())
			}
			for _, c := range r.columns {
				group.Go(func() error { return a.putColumn(ctx, e, r.key, c, valueOf(held[i], c.qualifier)) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// putColumn edits one annotation, of which raw was read.
func (a *Annotations) putColumn(ctx context.Context, e *edits, key []byte, c *columnEdit, raw []byte) error {
	column := kv.Column{Table: a.o.Table, Family: schema.FamilyData, Row: key, Qualifier: c.qualifier}
	for range putAttempts {
		document, err := e.edited(c, raw)
		if err != nil {
			return err
		}
		if raw != nil && bytes.Equal(raw, document) {
			return nil
		}
		if done, err := a.o.DB.CheckAndPut(ctx, column, raw, document); err != nil || done {
			return err
		}
		held, err := a.read(ctx, [][]byte{key})
		if err != nil {
			return err
		}
		raw = valueOf(held[0], c.qualifier)
	}
	return fmt.Errorf("%w: row %x column %x", errContested, key, c.qualifier)
}
