package catalog

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// replaceLost gives UIDs of tag values that have no name their lost values.
func (n *names) replaceLost() {
	values := n.by[storage.TagValueName]
	for i, name := range values {
		if name == "" {
			values[i] = storage.LostMark + n.uids[storage.TagValueName][i]
		}
	}
}

// nameless returns the error of the i-th series, of which a UID has no name.
func (n *names) nameless(i int) error {
	begin := 0
	if i > 0 {
		begin = n.ends[i-1]
	}
	parts := n.parts[begin:n.ends[i]]
	e := storage.NamelessError{Metric: n.by[storage.MetricName][parts[0]], TSUID: schema.FormatTSUID([]byte(n.tsuids[i]))}
	for at, part := range parts {
		kind := storage.MetricName
		if at > 0 {
			kind = storage.TagKeyName + storage.NameKind((at-1)%2)
		}
		if n.by[kind][part] == "" {
			e.Kind, e.UID = kind, n.uids[kind][part]
			break
		}
	}
	return e
}

// firstLeft returns the place of the first of some TSUIDs, of each of which a UID has no name, that is still in
// the tables; -1: none is. A check may have deleted their rows, which the index does not notice.
func (cat *namer) firstLeft(ctx context.Context, tsuids []string) (int, error) {
	const atOnce = 1024
	for from := 0; from < len(tsuids); from += atOnce {
		some := tsuids[from:min(from+atOnce, len(tsuids))]
		keys := make([][]byte, len(some))
		for i, tsuid := range some {
			keys[i] = []byte(tsuid)
		}
		rows, err := cat.db.Get(ctx, cat.o.Tables.Meta, schema.FamilyMeta, keys)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", cat.o.Tables.Meta, err)
		}
		for i, meta := range rows {
			if len(meta.Cells) > 0 {
				return from + i, nil
			}
		}
	}
	if cat.db.Exclusive || cat.o.Index == storage.IndexMeta {
		return -1, nil
	}
	return cat.firstWithRows(ctx, tsuids)
}

// firstWithRows is firstLeft by the rows of the data table, which is looked at for few series.
func (cat *namer) firstWithRows(ctx context.Context, tsuids []string) (int, error) {
	const few = 16
	for i, tsuid := range tsuids {
		if i == few {
			return i, nil
		}
		if has, err := cat.hasRows(ctx, tsuid); err != nil || has {
			return i, err
		}
	}
	return -1, nil
}

// hasRows reports whether the data table has rows of a series.
func (cat *namer) hasRows(ctx context.Context, tsuid string) (bool, error) {
	l := cat.layout
	scan := row.ScanMetric(l, cat.o.Tables.Data, l.Bucket([]byte(tsuid)), tsuid[:l.MetricWidth], 0, schema.Base(storage.MaxTime))
	scan.KeysOnly, scan.Limit = true, 1
	scan.Match = &kv.Match{Prefix: l.PrefixWidth(), Key: l.TagkWidth, Value: l.TagvWidth, Suffixes: [][]byte{[]byte(tsuid[l.MetricWidth:])}}
	for _, err := range cat.db.Scan(ctx, scan) {
		if err != nil {
			return false, fmt.Errorf("look for rows of the TSUID %s: %w", hex.EncodeToString([]byte(tsuid)), err)
		}
		return true, nil
	}
	return false, nil
}

// lost returns the error of a UID that has no name and that some series have, nil if none of them is left.
func (cat *namer) lost(ctx context.Context, kind storage.NameKind, lost string, of []index.ID) error {
	tsuids := cat.index.TSUIDs(nil, of)
	left, err := cat.firstLeft(ctx, tsuids)
	if err != nil || left < 0 {
		return err
	}
	e := storage.NamelessError{NoNameOfUIDError: storage.NoNameOfUIDError{Kind: kind, UID: lost}, TSUID: schema.FormatTSUID([]byte(tsuids[left]))}
	metric := tsuids[left][:cat.layout.MetricWidth]
	names, err := cat.uids.Names(ctx, storage.MetricName, []string{metric})
	if err != nil {
		return err
	}
	e.Metric = names[0]
	return e
}

// warnNameless logs that a job leaves out a series without a name.
func (cat *namer) warnNameless(err error) {
	cat.metrics.seriesNameless.Inc()
	cat.o.Logger.Warn("a UID of a series has no name in tsdb-uid, so jobs that choose series by name leave the series out; see tsdbridge uid fsck", "err", err)
}
