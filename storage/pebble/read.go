package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Get implements kv.KV. It sees all rows at one moment and reads them in the order of their keys.
func (e *Engine) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	rows, err := e.get(ctx, table, family, keys)
	if err != nil {
		return nil, fmt.Errorf("get %d rows of %s: %w", len(keys), table, err)
	}
	return rows, nil
}

func (e *Engine) get(ctx context.Context, table, family string, keys [][]byte) (rows []kv.Row, err error) {
	id, err := e.begin(ctx, table, family)
	if err != nil {
		return nil, err
	}
	defer e.leave()
	it, err := e.db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{id}, UpperBound: []byte{id + 1},
		UseL6Filters: true, // many of the rows asked for are not there
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	rows = make([]kv.Row, len(keys))
	var seek []byte
	for n, i := range order {
		if err := e.pause(ctx, n); err != nil {
			return nil, err
		}
		rows[i].Key = bytes.Clone(keys[i])
		seek = append(append(seek[:0], id), keys[i]...)
		if !it.SeekPrefixGE(seek) {
			if err := it.Error(); err != nil {
				return nil, err
			}
			continue
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		if rows[i].Cells, err = everything.cells(value); err != nil {
			return nil, fmt.Errorf("row %x: %w", keys[i], err)
		}
	}
	return rows, nil
}

// pause looks every few hundred steps whether to go on.
func (e *Engine) pause(ctx context.Context, step int) error {
	if step%256 != 0 {
		return nil
	}
	if e.closing.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// Scan implements kv.KV. It sees the table as it was when the scan began; writers do not wait for it.
func (e *Engine) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		if err := e.scan(ctx, &s, func(row kv.Row) bool { return yield(row, nil) }); err != nil {
			yield(kv.Row{}, fmt.Errorf("scan %s: %w", s.Table, err))
		}
	}
}

// scan calls yield until it returns false, which is no error.
func (e *Engine) scan(ctx context.Context, s *kv.Scan, yield func(kv.Row) bool) (err error) {
	id, err := e.begin(ctx, s.Table, s.Family)
	if err != nil {
		return err
	}
	defer e.leave()
	if len(s.Stop) > 0 && bytes.Compare(s.Start, s.Stop) >= 0 {
		return nil
	}
	skip := &skipper{match: s.Match}
	it, err := e.db.NewIter(scanOptions(id, s, skip))
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		if closeErr := it.Close(); !stopped {
			err = errors.Join(err, closeErr)
		}
	}()
	wanted := selectionOf(s)
	left := s.Limit
	var seek []byte
	for ok, step := it.First(), 1; ok; step++ {
		if err := e.pause(ctx, step); err != nil {
			return err
		}
		key := it.Key()[1:]
		if s.Match != nil && !s.Match.Matches(key) {
			if err := e.pause(ctx, 0); err != nil { // many keys went by
				return err
			}
			var end bool
			if seek, end = s.Match.Skip(append(seek[:0], id), key); end {
				break
			}
			if skip.patient = len(seek) == 1; skip.patient {
				ok = it.Next()
			} else {
				ok = it.SeekGE(seek)
			}
			continue
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		cells, err := wanted.cells(value)
		if err != nil {
			return fmt.Errorf("row %x: %w", key, err)
		}
		if len(cells) > 0 {
			if s.KeysOnly {
				cells = nil
			}
			if stopped = !yield(kv.Row{Key: bytes.Clone(key), Cells: cells}); stopped {
				return nil
			}
			if left--; left == 0 {
				return nil
			}
		}
		ok = it.Next()
	}
	return it.Error()
}

func scanOptions(id byte, s *kv.Scan, skip *skipper) *pebble.IterOptions {
	options := &pebble.IterOptions{LowerBound: rowKey(id, s.Start), UpperBound: []byte{id + 1}}
	if len(s.Stop) > 0 {
		options.UpperBound = rowKey(id, s.Stop)
	}
	if s.Match != nil {
		options.SkipPoint = skip.skip
	}
	if s.Since > 0 {
		options.PointKeyFilters = append(make([]pebble.BlockPropertyFilter, 0, 2), newSinceFilter(s.Since))
	}
	return options
}
