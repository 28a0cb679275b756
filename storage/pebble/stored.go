package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Costs implements kv.Local, by BenchmarkStored: rows of 240 points in the block cache, the fastest
// of five runs on a busy machine. A row by its key takes 0.5 to 1.2 µs if all its neighbours are
// requested too, and 0.7 to 2.5 µs if none is; less in memory tables and more in files. The next
// row takes 0.25 to 0.45 µs, and 0.04 to 0.08 µs more for each row that is skipped. The figures
// below are within these ranges; that of Scan is an estimate.
func (*Engine) Costs() kv.Costs {
	return kv.Costs{Get: 1.2, Row: 0.25, Scan: 3, Suffix: 0.06}
}

// GetStored implements kv.Local.
func (e *Engine) GetStored(ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []kv.StoredCell) error) error {
	if err := e.getStored(ctx, table, family, keys, near, visit); err != nil {
		return fmt.Errorf("get %d rows of %s: %w", len(keys), table, explain(err))
	}
	return nil
}

func (e *tableRows) getStored(ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []kv.StoredCell) error) (err error) {
	id, err := e.begin(ctx, table, family)
	if err != nil {
		return err
	}
	defer e.leave()
	s := newSeeker(id, near)
	if s.it, err = e.db().NewIter(s.options()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.it.Close()) }()
	var row storedRow
	for i, key := range keys {
		if err := e.pause(ctx, i); err != nil {
			return err
		}
		found, err := s.find(key)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		cells, err := row.read(s.it)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if len(cells) == 0 {
			continue
		}
		if err := visit(i, cells); err != nil {
			return err
		}
	}
	return nil
}

// maxStride is how many rows a seeker goes by one after the other before it seeks: as many as a
// seek costs.
const maxStride = 16

const (
	// mostLuck is how many hits of a seeker count.
	mostLuck = 8
	// badLuck is for how many hits a miss counts: a hit saves a third of a seek or more, and a miss
	// costs as much as another seek.
	badLuck = 3
)

// seeker finds keys that ascend: by going on from the last as long as they turn out to be near to
// each other, then each by a seek.
type seeker struct {
	it     *pebble.Iterator
	id     byte
	placed bool   // the iterator has a position
	target []byte // with id
	missed int    // rows that were passed
	luck   int    // how often the target was near; below 0 each is sought
}

// newSeeker returns a seeker. near means that the keys are expected to be near to each other.
func newSeeker(id byte, near bool) *seeker {
	if near {
		return &seeker{id: id, luck: mostLuck}
	}
	return &seeker{id: id, luck: badLuck}
}

func (s *seeker) options() *pebble.IterOptions {
	return &pebble.IterOptions{
		LowerBound: []byte{s.id}, UpperBound: []byte{s.id + 1},
		UseL6Filters: true, // many of the rows asked for are not there
		SkipPoint:    s.skip,
	}
}

// skip passes over keys before the target, before Pebble folds their values. It is not a pure
// function, as Pebble wants it, but the target only ever moves on: what it lets through and should
// not, find drops by its key.
func (s *seeker) skip(key []byte) bool {
	if bytes.Compare(key, s.target) >= 0 {
		return false
	}
	s.missed++
	return s.missed < maxStride
}

// find goes to a key and reports whether there is such a row.
func (s *seeker) find(key []byte) (bool, error) {
	s.target = append(append(s.target[:0], s.id), key...)
	if s.luck < 0 {
		return s.result(s.it.SeekPrefixGE(s.target)) // the prefix is the whole key
	}
	if s.missed = 0; !s.placed {
		s.placed = true
		return s.result(s.it.SeekGE(s.target))
	}
	if !s.it.Valid() {
		return false, s.it.Error() // after the last row
	}
	if bytes.Compare(s.it.Key(), s.target) < 0 && s.it.Next() && bytes.Compare(s.it.Key(), s.target) < 0 {
		s.luck -= badLuck
		s.it.SeekGE(s.target)
	} else {
		s.luck = min(s.luck+1, mostLuck)
	}
	return s.result(s.it.Valid())
}

func (s *seeker) result(valid bool) (bool, error) {
	if !valid {
		return false, s.it.Error()
	}
	return bytes.Equal(s.it.Key(), s.target), nil
}

// ScanStored implements kv.Local.
func (e *Engine) ScanStored(ctx context.Context, s kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error {
	if err := e.scanStored(ctx, &s, visit); err != nil {
		return fmt.Errorf("scan %s: %w", s.Table, explain(err))
	}
	return nil
}

func (e *tableRows) scanStored(ctx context.Context, s *kv.Scan, visit func(key []byte, cells []kv.StoredCell) error) error {
	return e.walking(ctx, s, func(w *walk) error { return w.visitStored(ctx, visit) })
}

// visitStored shows the rows that are left.
func (w *walk) visitStored(ctx context.Context, visit func(key []byte, cells []kv.StoredCell) error) error {
	var row storedRow
	for {
		if ok, err := w.step(ctx); !ok || err != nil {
			return err
		}
		key := w.it.Key()[1:]
		cells, err := row.read(w.it)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if len(cells) == 0 {
			continue
		}
		if err := visit(key, cells); err != nil {
			return err
		}
	}
}

// storedRow is the memory for the cells of a row.
type storedRow struct{ cells []kv.StoredCell }

// read lists the cells of the row at the iterator's position.
func (s *storedRow) read(it *pebble.Iterator) ([]kv.StoredCell, error) {
	value, err := it.ValueAndErr()
	if err != nil {
		return nil, err
	}
	r, err := parseRow(value)
	if err != nil {
		return nil, err
	}
	s.cells = s.cells[:0]
	for {
		var rec record
		more, err := r.next(&rec)
		if err != nil || !more {
			return s.cells, err
		}
		if !rec.deleted {
			s.cells = append(s.cells, kv.StoredCell{Coded: rec.coded, Qualifier: rec.qualifier, Value: rec.value, Time: rec.time})
		}
	}
}
