package catalog

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// scanBatch is how many TSUIDs EachTSUID passes at a time.
const scanBatch = 1000

// EachTSUID calls visit with batches of the TSUIDs of the tables, in ascending order of their
// bytes, each TSUID once. visit may keep them. EachTSUID reads the tables, not the series index: it
// needs no Run, and its memory is bounded by the series of a few metrics that only row keys have.
// It may miss series that appear while it runs. An error of visit ends it.
func (cat *discovery) EachTSUID(ctx context.Context, c storage.SeriesScan, visit func(tsuids [][]byte) error) error {
	t := &tableScan{catalog: cat, from: c.From, all: c.Rows, visit: visit}
	if cat.o.Index == storage.IndexAuto && !cat.db.Exclusive || c.Rows {
		t.begin(ctx)
		defer t.end()
	}
	scan := kv.Scan{Table: cat.o.Tables.Meta, Family: schema.FamilyMeta, KeysOnly: true, Start: c.From}
	for row, err := range cat.db.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("list the series: %w", err)
		}
		if err := t.row(ctx, row.Key); err != nil {
			return err
		}
	}
	return t.finish(ctx)
}

// tableScan is one run of EachTSUID: tsdb-meta in order, and before each of its metrics those that
// only row keys know.
type tableScan struct {
	catalog *discovery
	from    []byte
	all     bool
	visit   func([][]byte) error
	batch   [][]byte

	metric []byte   // of the last row of tsdb-meta
	extra  [][]byte // series that the row keys have of that metric, from where tsdb-meta is
	metricList
}

// row takes a row of tsdb-meta.
func (t *tableScan) row(ctx context.Context, key []byte) error {
	metric, _, err := t.catalog.layout.ParseTSUID(key)
	if err != nil {
		t.catalog.o.Logger.Warn("row key in tsdb-meta is not a TSUID of the configured UID widths, and is skipped; compare --storage.uid-width.* with the TSD's, or remove the row", "row", hex.EncodeToString(key), "err", err)
		return nil
	}
	if !bytes.Equal(metric, t.metric) {
		if err := t.enter(ctx, metric); err != nil {
			return err
		}
	}
	for len(t.extra) > 0 && bytes.Compare(t.extra[0], key) <= 0 {
		if !bytes.Equal(t.extra[0], key) {
			if err := t.add(t.extra[0]); err != nil {
				return err
			}
		}
		t.extra = t.extra[1:]
	}
	return t.add(key)
}

// enter ends the metric before, and takes those between it and the next one of tsdb-meta.
func (t *tableScan) enter(ctx context.Context, metric []byte) error {
	if err := t.leave(); err != nil {
		return err
	}
	if err := t.until(ctx, metric); err != nil {
		return err
	}
	t.metric = slices.Clone(metric)
	if !t.all {
		return nil
	}
	var err error
	t.extra, err = t.rowsOf(ctx, metric)
	return err
}

func (t *tableScan) leave() error {
	for _, tsuid := range t.extra {
		if err := t.add(tsuid); err != nil {
			return err
		}
	}
	t.extra = nil
	return nil
}

func (t *tableScan) finish(ctx context.Context) error {
	if err := t.leave(); err != nil {
		return err
	}
	if err := t.until(ctx, nil); err != nil {
		return err
	}
	if len(t.batch) == 0 {
		return nil
	}
	return t.visit(t.batch)
}

func (t *tableScan) add(tsuid []byte) error {
	if bytes.Compare(tsuid, t.from) < 0 {
		return nil
	}
	t.batch = append(t.batch, tsuid)
	if len(t.batch) < scanBatch {
		return nil
	}
	full := t.batch
	t.batch = make([][]byte, 0, scanBatch)
	return t.visit(full)
}

// NameSeries names series, in order, for callers that see which are missing: those that have a UID without
// a name (it was deleted from tsdb-uid), or that are not TSUIDs of the configured widths, are left out.
func (cat *namer) NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error) {
	some, _, _, err := cat.nameTSUIDs(ctx, tsuids, whole)
	return some, err
}

// NameAll is NameSeries in which a series that is in the tables and of which a UID has no name is a NamelessError.
func (cat *namer) NameAll(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error) {
	return cat.nameAllAs(ctx, tsuids, whole)
}

// NameLost is NameAll with lost values, as FindLost has them.
func (cat *namer) NameLost(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error) {
	return cat.nameAllAs(ctx, tsuids, lostValues)
}

func (cat *namer) nameAllAs(ctx context.Context, tsuids [][]byte, as naming) ([]storage.NewSeries, error) {
	some, n, lost, err := cat.nameTSUIDs(ctx, tsuids, as)
	if err != nil {
		return nil, err
	}
	return some, cat.leaveOut(ctx, n, lost, as)
}

// nameTSUIDs names series, and returns which have no name.
func (cat *namer) nameTSUIDs(ctx context.Context, tsuids [][]byte, as naming) (some []storage.NewSeries, n *names, lost []int, err error) {
	var right []string
	for _, tsuid := range tsuids {
		if _, _, err := cat.layout.ParseTSUID(tsuid); err == nil {
			right = append(right, string(tsuid))
		}
	}
	if n, err = cat.newNames(ctx, right); err != nil {
		return nil, nil, nil, err
	}
	if as == lostValues {
		n.replaceLost()
	}
	some = make([]storage.NewSeries, 0, len(right))
	for i, name := range n.series() {
		if name.Tags != nil {
			some = append(some, storage.NewSeries{TSUID: []byte(right[i]), Series: name})
		} else {
			lost = append(lost, i)
		}
	}
	return some, n, lost, nil
}

// TSUID looks up the UIDs of a series; ok is false when one of its names has none, so that there
// are no points of it.
func (cat *namer) TSUID(ctx context.Context, of storage.Series) (tsuid []byte, ok bool, err error) {
	var keys, values []string
	for _, t := range of.Tags {
		keys, values = append(keys, t.Key), append(values, t.Value)
	}
	var uids [3][]string
	for kind, names := range [][]string{{of.Metric}, keys, values} {
		if uids[kind], err = cat.uids.Lookup(ctx, storage.NameKind(kind), names); err != nil {
			return nil, false, err
		}
		if slices.Contains(uids[kind], "") {
			return nil, false, nil
		}
	}
	var pairs []schema.Pair
	for i := range of.Tags {
		pairs = append(pairs, schema.Pair{Key: []byte(uids[storage.TagKeyName][i]), Value: []byte(uids[storage.TagValueName][i])})
	}
	return cat.layout.AppendTSUID(nil, []byte(uids[storage.MetricName][0]), pairs), true, nil
}
