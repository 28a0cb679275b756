package hbase

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// metaTable lists the regions of all tables, metaFamily what is known of them.
const (
	metaTable  = "hbase:meta"
	metaFamily = "info"
)

// Split implements kv.Versioned. It cuts where regions begin, so each part is read from other
// region servers; regions count as equally large.
func (e *Engine) Split(ctx context.Context, s kv.Scan, n int) ([]kv.Scan, error) {
	if n < 2 || s.Limit > 0 {
		return []kv.Scan{s}, nil
	}
	starts, err := e.regionStarts(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	inside := kv.SplitAt(s, starts)[1:] // each begins where a region does
	var cuts [][]byte
	for _, i := range kv.EvenCuts(len(inside), n) {
		cuts = append(cuts, inside[i].Start)
	}
	return kv.SplitAt(s, cuts), nil
}

// regionStarts returns the first keys of the regions of a table, in ascending order. A region that
// was split may still be listed: its key is one of theirs.
func (e *Engine) regionStarts(ctx context.Context, table string) ([][]byte, error) {
	var starts [][]byte
	err := e.eachRegion(ctx, table, true, func(start []byte, _ *kv.Row) error {
		if len(start) > 0 {
			starts = append(starts, start)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(starts, bytes.Compare)
	return slices.CompactFunc(starts, bytes.Equal), nil
}

// eachRegion calls do with the first key of each region of a table, and its row in hbase:meta.
func (e *Engine) eachRegion(ctx context.Context, table string, keysOnly bool, do func(start []byte, row *kv.Row) error) error {
	// A row key is table,start,time.name. with a time of digits. HBase orders these keys part by
	// part: after the rows of a table there is none up to its name with a minus, the least letter
	// of a name.
	name := strings.TrimPrefix(table, "default:")
	list := kv.Scan{Table: metaTable, Family: metaFamily, Start: []byte(name + ",,"), Stop: []byte(name + "-"), KeysOnly: keysOnly}
	for row, err := range e.Scan(ctx, list) {
		if err != nil {
			return err
		}
		if start, ok := regionStart(row.Key, name); ok {
			if err := do(start, &row); err != nil {
				return err
			}
		}
	}
	return nil
}

// regionStart returns the first key of a region of a table from its row key in hbase:meta.
func regionStart(key []byte, table string) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(key, []byte(table+","))
	at := bytes.LastIndexByte(rest, ',')
	if !ok || at < 0 {
		return nil, false
	}
	return rest[:at], true
}
