package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Scan implements kv.KV. It sees the table as it was when the scan began; writers do not wait for
// it.
//
// With Since it still steps over every row in the range, some millions a second: Pebble's block
// properties, which could leave out whole blocks, are not shown the values of rows that were
// compacted, so they cannot know times.
func (e *Engine) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		left := s.Limit
		goOn := true
		err := e.scan(ctx, &s, func(row kv.Row) bool {
			left--
			goOn = yield(row, nil)
			return goOn && left != 0
		})
		if err != nil && goOn {
			yield(kv.Row{}, fmt.Errorf("scan %s: %w", s.Table, explain(err)))
		}
	}
}

// scan calls yield with each row until it returns false.
func (e *tableRows) scan(ctx context.Context, s *kv.Scan, yield func(kv.Row) bool) error {
	return e.walking(ctx, s, func(w *walk) error {
		for {
			row, err := w.next(ctx)
			if err != nil || row.Key == nil || !yield(row) {
				return err
			}
		}
	})
}

// walking opens a scan, passes it to do unless its bounds are empty, and closes it.
func (e *tableRows) walking(ctx context.Context, s *kv.Scan, do func(*walk) error) (err error) {
	id, err := e.begin(ctx, s.Table, s.Family)
	if err != nil {
		return err
	}
	defer e.leave()
	if len(s.Stop) > 0 && bytes.Compare(s.Start, s.Stop) >= 0 {
		return nil
	}
	w, err := e.walk(id, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.it.Close()) }()
	return do(w)
}

// walk is one scan under way.
type walk struct {
	engine   *tableRows
	it       *pebble.Iterator
	id       byte
	match    *kv.Match
	skip     *skipper
	wanted   selection
	keysOnly bool
	started  bool
	steps    int
	seek     []byte // memory for keys to jump to
	decoder  decoder
}

func (e *tableRows) walk(id byte, s *kv.Scan) (*walk, error) {
	w := &walk{engine: e, id: id, match: s.Match, skip: &skipper{match: s.Match}, wanted: selectionOf(s), keysOnly: s.KeysOnly}
	options := &pebble.IterOptions{LowerBound: rowKey(id, s.Start), UpperBound: []byte{id + 1}}
	if len(s.Stop) > 0 {
		options.UpperBound = rowKey(id, s.Stop)
	}
	if s.Match != nil {
		options.SkipPoint = w.skip.skip
	}
	var err error
	w.it, err = e.db().NewIter(options)
	return w, err
}

// next returns the next matching row; at the end, one without a key.
func (w *walk) next(ctx context.Context) (kv.Row, error) {
	for {
		if ok, err := w.step(ctx); !ok || err != nil {
			return kv.Row{}, err
		}
		cells, found, err := w.read()
		if err != nil {
			return kv.Row{}, fmt.Errorf("row %x: %w", w.it.Key()[1:], err)
		}
		if found {
			return kv.Row{Key: bytes.Clone(w.it.Key()[1:]), Cells: cells}, nil
		}
	}
}

func (w *walk) read() (cells []kv.Cell, found bool, err error) {
	value, err := w.it.ValueAndErr()
	if err != nil {
		return nil, false, err
	}
	if w.keysOnly {
		found, err = w.wanted.any(value, &w.decoder)
		return nil, found, err
	}
	cells, err = w.wanted.cells(value, &w.decoder)
	return cells, len(cells) > 0, err
}

// step goes to the next key that matches; false is the end.
func (w *walk) step(ctx context.Context) (bool, error) {
	var ok bool
	if w.started {
		ok = w.it.Next()
	} else {
		w.started, ok = true, w.it.First()
	}
	w.steps++
	err := w.engine.pause(ctx, w.steps)
	for ok && err == nil && !w.matches() {
		err = w.engine.pause(ctx, 0) // many keys may have been passed
		ok = w.jump()
	}
	if err == nil && !ok {
		err = w.it.Error()
	}
	return ok, err
}

func (w *walk) matches() bool {
	return w.match == nil || w.match.Matches(w.it.Key()[1:])
}

// jump leaves a key that does not match for the next that may.
func (w *walk) jump() bool {
	var end bool
	if w.seek, end = w.match.Skip(append(w.seek[:0], w.id), w.it.Key()[1:]); end {
		return false
	}
	if w.skip.nowhere = len(w.seek) == 1; w.skip.nowhere {
		return w.it.Next()
	}
	return w.it.SeekGE(w.seek)
}

// skipper passes over keys that do not match before Pebble folds their values. Now and then it lets
// one through, so that the scan can jump over a gap or see that it was cancelled.
//
// Pebble wants a pure function, because it may ask about each version of a key. This one is pure
// for keys that match; those that it lets through otherwise may come with a wrong value, and the
// scan drops them by their key.
type skipper struct {
	match   *kv.Match
	missed  int
	nowhere bool // there is nowhere to jump to
}

const (
	// A seek costs about as much as this many steps, so a scan that looks for a gap after them is
	// never more than twice as slow as the better of the two ways.
	missesBeforeSeek = 32
	// missesBeforePause is how many keys may go by before the context is looked at.
	missesBeforePause = 512
)

func (s *skipper) skip(key []byte) bool {
	if len(key) == 0 || s.match.Matches(key[1:]) {
		s.missed = 0
		return false
	}
	s.missed++
	if s.missed < missesBeforeSeek || s.nowhere && s.missed < missesBeforePause {
		return true
	}
	s.missed = 0
	return false
}
