package annotations

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Annotation is a note; see storage.Annotation. A global one has no TSUID.
type Annotation = storage.Annotation

// Bounds of what is stored.
const (
	// MaxBytes is the greatest length of an annotation as it is stored.
	MaxBytes = 64 << 10
	// MaxRowBytes bounds the annotations of a series, or the global ones, in one hour together: they
	// are one row, which every query of that hour reads.
	MaxRowBytes = 16 << 20
)

// Options are what Annotations need.
type Options struct {
	DB     *kv.Engine
	Table  string // of points
	Tree   string // the table of trees, where the counter is
	Layout schema.Layout
	Series *index.Index
	// Beside calls put while no deletion of the rows begins; see write.Writer.Beside.
	Beside func(ctx context.Context, rows []write.SeriesRow, put func() error) error
	// Ready returns an error while the tables cannot be used yet.
	Ready func() error
	// Unreadable, if set, is told why an annotation that a request meets cannot be read.
	Unreadable func(err error)
}

// Annotations are those of some tables. They are safe for concurrent use.
type Annotations struct {
	o    Options
	seed maphash.Seed
	// rows are held while rows of a Local engine are changed, by their keys, in ascending order.
	rows [64]sync.Mutex
}

// New returns the annotations of a table.
func New(o Options) *Annotations { return &Annotations{o: o, seed: maphash.MakeSeed()} }

// place is where an annotation is.
type place struct {
	tsuid          []byte // nil: a global one
	base           uint32
	key, qualifier []byte
}

// placeOf returns where the annotation of a series (empty: a global one) with a start is.
func (a *Annotations) placeOf(tsuid string, start int64) (place, error) {
	var p place
	switch {
	case start < 1:
		return p, fmt.Errorf("%w: The start timestamp has not been set", storage.ErrInvalid) // a TSD's words
	case schema.MillisOf(start) > storage.MaxTime:
		return p, fmt.Errorf("%w: start %d is after the last time that can be stored", storage.ErrInvalid, start)
	}
	var err error
	if p.tsuid, err = a.parseTSUID(tsuid); err != nil {
		return p, err
	}
	p.base, p.qualifier = schema.AnnotationCell(start)
	p.key = a.o.Layout.AppendAnnotationKey(nil, p.tsuid, p.base)
	return p, nil
}

// parseTSUID reads the digits of a TSUID; nil if there are none.
func (a *Annotations) parseTSUID(text string) ([]byte, error) {
	switch {
	case text == "":
		return nil, nil
	case len(text) > 2*kv.MaxKeyLength:
		return nil, fmt.Errorf("%w: TSUID of %d digits", storage.ErrInvalid, len(text))
	}
	tsuid, err := schema.UnhexTSUID(text)
	if err == nil {
		err = a.o.Layout.CheckSeries(tsuid)
	}
	if err == nil && a.o.Layout.PrefixWidth()+len(tsuid) > kv.MaxKeyLength {
		err = fmt.Errorf("TSUID of %d bytes", len(tsuid))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	return tsuid, nil
}

// CheckTSUID returns what is wrong with the digits of a TSUID, an ErrInvalid.
func (a *Annotations) CheckTSUID(tsuid string) error {
	_, err := a.parseTSUID(tsuid)
	return err
}

// row returns the row of a series that a place is in; false if it is of no series that is known.
func (a *Annotations) row(p *place) (write.SeriesRow, bool) {
	if p.tsuid == nil {
		return write.SeriesRow{}, false
	}
	id, ok := a.o.Series.Number(p.tsuid) // Beside registers one that was deleted again
	return write.SeriesRow{ID: id, Base: p.base}, ok
}

// Get returns the annotation with a start; false: there is none.
func (a *Annotations) Get(ctx context.Context, tsuid string, start int64) (Annotation, bool, error) {
	p, err := a.placeOf(tsuid, start)
	if err == nil {
		err = a.o.Ready()
	}
	if err != nil {
		return Annotation{}, false, err
	}
	rows, err := a.read(ctx, [][]byte{p.key})
	if err != nil {
		return Annotation{}, false, err
	}
	document := valueOf(rows[0], p.qualifier)
	if document == nil {
		return Annotation{}, false, nil
	}
	found, err := a.parse(p.key, p.qualifier, document)
	return found, err == nil, err
}

// rowsPerGet is how many rows are read at once; they may have points too.
const rowsPerGet = 64

// read returns the annotations in rows, whose keys ascend, in their order.
func (a *Annotations) read(ctx context.Context, keys [][]byte) ([][]kv.Cell, error) {
	held := make([][]kv.Cell, 0, len(keys))
	for some := range slices.Chunk(keys, rowsPerGet) {
		from := len(held)
		held = append(held, make([][]kv.Cell, len(some))...)
		err := a.o.DB.Rows.GetStored(ctx, a.o.Table, schema.FamilyData, some, false, func(i int, cells []kv.StoredCell) error {
			for _, c := range cells {
				if isAnnotation(c) {
					held[from+i] = append(held[from+i], kv.Cell{Qualifier: bytes.Clone(c.Qualifier), Value: bytes.Clone(c.Value), Time: c.Time})
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read annotations: %w", err)
		}
	}
	return held, nil
}

func isAnnotation(c kv.StoredCell) bool {
	return c.Coded == nil && schema.ClassifyCell(c.Qualifier) == schema.CellAnnotation
}

// valueOf returns the value of a cell, nil without one.
func valueOf(cells []kv.Cell, qualifier []byte) []byte {
	for _, c := range cells {
		if string(c.Qualifier) == string(qualifier) {
			return c.Value
		}
	}
	return nil
}

// parse reads a stored document. One that cannot be read fails a request, as in a TSD.
func (a *Annotations) parse(key, qualifier, document []byte) (Annotation, error) {
	found, err := schema.ParseAnnotation(document)
	if err == nil {
		return found, nil
	}
	err = fmt.Errorf("row %x of %s: the annotation in cell %x cannot be read: %w; tsdbridge fsck finds it, and --fix=bad-annotation deletes it",
		key, a.o.Table, qualifier, err)
	if a.o.Unreadable != nil {
		a.o.Unreadable(err)
	}
	return found, storage.RowError{Err: err}
}

// parsed reads a stored document that an edit replaces; false without one that can be read.
func parsed(document []byte) (Annotation, bool) {
	if document == nil {
		return Annotation{}, false
	}
	found, err := schema.ParseAnnotation(document)
	return found, err == nil
}

// Delete deletes the annotation with a start, if it is there, durably.
func (a *Annotations) Delete(ctx context.Context, tsuid string, start int64) error {
	p, err := a.placeOf(tsuid, start)
	if err == nil {
		err = a.o.Ready()
	}
	if err != nil {
		return err
	}
	return a.delete(ctx, []kv.Mutation{{Key: p.key, Deletes: []kv.Delete{{Qualifier: p.qualifier}}}})
}

// delete makes deletions, while no annotation of their rows is edited here.
func (a *Annotations) delete(ctx context.Context, rows []kv.Mutation) error {
	keys := make([][]byte, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
	}
	defer a.lock(keys)()
	if err := a.o.DB.Apply(ctx, a.o.Table, schema.FamilyData, rows); err != nil {
		return fmt.Errorf("delete annotations: %w", err)
	}
	return nil
}

// lock keeps others of this process from editing rows until unlock is called.
func (a *Annotations) lock(keys [][]byte) (unlock func()) {
	held := make([]int, len(keys))
	for i, key := range keys {
		held[i] = int(maphash.Bytes(a.seed, key) % uint64(len(a.rows)))
	}
	slices.Sort(held)
	held = slices.Compact(held)
	for _, i := range held {
		a.rows[i].Lock()
	}
	return func() {
		for _, i := range held {
			a.rows[i].Unlock()
		}
	}
}
