package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

var _ kv.Local = (*Engine)(nil)

// Split implements kv.Local. It cuts where Pebble's tables begin, by their sizes; rows that are
// still in memory tables count for nothing.
func (e *Engine) Split(ctx context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	parts, err := e.split(ctx, s, n)
	if err != nil {
		return nil, fmt.Errorf("split a scan of %s: %w", s.Table, explain(err))
	}
	return parts, nil
}

func (e *tableRows) split(ctx context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	id, err := e.begin(ctx, s.Table, s.Family)
	if err != nil {
		return nil, err
	}
	defer e.leave()
	from, to := rowKey(id, s.Start), []byte{id + 1}
	if len(s.Stop) > 0 {
		to = rowKey(id, s.Stop)
	}
	if n < 2 || bytes.Compare(from, to) >= 0 {
		return []kv.Scan{s}, nil
	}
	tables, err := tablesIn(e.db(), from, to)
	if err != nil {
		return nil, err
	}
	return kv.SplitAt(s, evenKeys(tables, id, n)), nil
}

// tablesIn lists the tables that may have rows of a range, in the order of their first keys.
func tablesIn(db *pebble.DB, from, to []byte) ([]pebble.SSTableInfo, error) {
	levels, err := db.SSTables(pebble.WithKeyRangeFilter(from, to))
	if err != nil {
		return nil, errors.Join(errors.New("list the tables"), err)
	}
	tables := slices.Concat(levels...)
	slices.SortFunc(tables, func(a, b pebble.SSTableInfo) int {
		return bytes.Compare(a.Smallest.UserKey, b.Smallest.UserKey)
	})
	return tables, nil
}

// evenKeys returns the row keys of a family, first keys of tables, that cut the tables into at most
// n parts of about equal size.
func evenKeys(tables []pebble.SSTableInfo, id byte, n int) [][]byte {
	var total, before uint64
	for i := range tables {
		total += tables[i].Size
	}
	var keys [][]byte
	for i := range tables {
		key := tables[i].Smallest.UserKey
		if due := total * uint64(len(keys)+1) / uint64(n); before >= due && before > 0 && len(keys) < n-1 && key[0] == id {
			if last := len(keys) - 1; last < 0 || !bytes.Equal(keys[last], key[1:]) {
				keys = append(keys, bytes.Clone(key[1:]))
			}
		}
		before += tables[i].Size
	}
	return keys
}
