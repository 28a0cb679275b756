package write

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// deleteRows deletes points of series, which ascend, from the rows of the table, and returns how
// many rows it deleted or changed. Rows whose hour lies within the deletion go as a whole. broken
// tells of rows that cannot be read and were left as they are. alone makes a change while no row of
// any series is put.
func (t *Table) deleteRows(ctx context.Context, d *Deletion, alone func(change func() error) error) (rows int, broken, err error) {
	r := removal{table: t, deletion: d, alone: alone, lo: schema.Base(d.Start), hi: schema.Base(d.End)}
	if err := r.all(ctx, d.IDs); err != nil {
		return r.rows, nil, err
	}
	return r.rows, r.damage(), nil
}

// all deletes from the rows of series.
func (r *removal) all(ctx context.Context, ids []index.ID) error {
	if r.deletion.Start > r.deletion.End {
		return nil
	}
	remove := r.group
	if r.shared != nil {
		remove = r.sharedGroup
	}
	for group := range r.table.metricGroups(ids) {
		if err := remove(ctx, group); err != nil {
			return err
		}
	}
	return r.removeRanges(ctx)
}

// damage tells of rows that cannot be read and were left as they are.
func (r *removal) damage() error {
	if len(r.broken) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d rows, the first is %s", storage.ErrBroken, len(r.broken), hex.EncodeToString(r.broken[0]))
}

// metricGroup is the series of one metric in one salt bucket: their rows are neighbours in the
// table.
type metricGroup struct {
	bucket int
	metric string // UID
	series []groupedSeries
}

type groupedSeries struct {
	id    index.ID
	tsuid []byte // the index's own
}

// metricGroups cuts series into groups.
func (t *Table) metricGroups(ids []index.ID) func(yield func(metricGroup) bool) {
	all := make([]groupedSeries, len(ids))
	for i, tsuid := range t.index.TSUIDBytes(nil, ids) {
		all[i] = groupedSeries{ids[i], tsuid}
	}
	prefix := func(s groupedSeries) (int, []byte) { return t.layout.Bucket(s.tsuid), s.tsuid[:t.layout.MetricWidth] }
	slices.SortFunc(all, func(a, b groupedSeries) int {
		bucketA, metricA := prefix(a)
		bucketB, metricB := prefix(b)
		return cmp.Or(cmp.Compare(bucketA, bucketB), bytes.Compare(metricA, metricB), bytes.Compare(a.tsuid, b.tsuid))
	})
	return func(yield func(metricGroup) bool) {
		for len(all) > 0 {
			bucket, metric := prefix(all[0])
			n := slices.IndexFunc(all, func(s groupedSeries) bool {
				b, m := prefix(s)
				return b != bucket || !bytes.Equal(m, metric)
			})
			if n < 0 {
				n = len(all)
			}
			if !yield(metricGroup{bucket, string(metric), all[:n]}) {
				return
			}
			all = all[n:]
		}
	}
}

// removal is the deletion of points from rows.
type removal struct {
	table    *Table
	deletion *Deletion
	alone    func(change func() error) error
	lo, hi   uint32 // base times
	content  row.Row
	shared   *erasure // on tables that other processes write to

	keys    [][]byte      // rows to look at
	changes []kv.Mutation // of rows that are known to be there
	ranges  []wholeRange  // that have no other rows
	rows    int           // deleted or changed
	broken  [][]byte      // keys of rows that cannot be read
}

// A row that is read by its key costs about as much as keyCost rows of a scan, of whose rows only
// the keys are read. So many rows are read by their keys in any case.
const (
	keyCost  = 8
	fewByKey = 256
)

// group deletes from the rows of a group: as a range if no other series has the metric, by their
// keys where there are few, else by a scan of the metric's rows.
func (r *removal) group(ctx context.Context, g metricGroup) error {
	const hour = schema.RowSeconds
	lo, hi, wanted := uint32(math.MaxUint32), uint32(0), int64(0)
	for _, s := range g.series {
		if first, last, ok := r.hours(s.id); ok {
			lo, hi = min(lo, first), max(hi, last)
			wanted += int64(last-first)/hour + 1
		}
	}
	if wanted == 0 {
		return nil
	}
	if wanted > fewForRange {
		if done, err := r.byRange(ctx, g, lo, hi); done || err != nil {
			return err
		}
	}
	scanned := int64(r.table.index.MetricSeries(g.metric)/max(r.table.layout.SaltBuckets, 1)) * (int64(hi-lo)/hour + 1)
	if wanted <= fewByKey || wanted*keyCost < scanned {
		return r.byKey(ctx, g)
	}
	return r.byScan(ctx, g, lo, hi)
}

// hours are the first and the last base time of the rows that a series may have within the
// deletion.
func (r *removal) hours(id index.ID) (first, last uint32, ok bool) {
	days := r.table.days
	if days == nil {
		return r.lo, r.hi, true
	}
	first, last, ok = days.Hours(id)
	first, last = max(first, r.lo), min(last, r.hi)
	return first, last, ok && first <= last
}

func (r *removal) byKey(ctx context.Context, g metricGroup) error {
	for _, s := range g.series {
		first, last, ok := r.hours(s.id)
		for base := int64(first); ok && base <= int64(last); base += schema.RowSeconds {
			r.keys = append(r.keys, r.table.layout.AppendRowKey(nil, s.tsuid, uint32(base)))
			if err := r.removeMany(ctx); err != nil {
				return err
			}
		}
	}
	return r.remove(ctx)
}

func (r *removal) byScan(ctx context.Context, g metricGroup, lo, hi uint32) error {
	for found, err := range r.scan(ctx, g, lo, hi) {
		if err != nil {
			return err
		}
		if !found.wanted {
			if err := r.keepLease(ctx); err != nil {
				return err
			}
			continue
		}
		if r.shared == nil && r.covers(found.base) {
			r.changes = append(r.changes, kv.Mutation{Key: found.key, DeleteRow: true})
		} else {
			r.keys = append(r.keys, found.key)
		}
		if err := r.removeMany(ctx); err != nil {
			return err
		}
	}
	return r.remove(ctx)
}

// foundRow is the key of a row in the range of a metric.
type foundRow struct {
	key    []byte
	base   uint32
	wanted bool // of a series of the group
}

// scan finds the rows in the range of a group's metric.
func (r *removal) scan(ctx context.Context, g metricGroup, lo, hi uint32) iter.Seq2[foundRow, error] {
	wanted := make(map[string]struct{}, len(g.series))
	for _, s := range g.series {
		wanted[string(s.tsuid)] = struct{}{}
	}
	scan := row.ScanMetric(r.table.layout, r.table.name, g.bucket, g.metric, lo, hi)
	scan.KeysOnly = true
	return func(yield func(foundRow, error) bool) {
		var tsuid []byte
		for found, err := range r.table.db.Scan(ctx, scan) {
			f := foundRow{key: found.Key}
			if err == nil {
				// A key that cannot be parsed is of another layout: none of ours.
				if key, parseErr := r.table.layout.ParseRowKey(found.Key); parseErr == nil {
					tsuid = key.AppendTSUID(tsuid[:0])
					_, f.wanted = wanted[string(tsuid)]
					f.base = key.Base
				}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// offsets returns the first and the last offset in a row that the deletion has.
func (r *removal) offsets(base uint32) (from, to uint32) {
	begin := int64(base) * 1000
	return uint32(max(r.deletion.Start-begin, 0)), uint32(min(r.deletion.End-begin, math.MaxUint32))
}

// covers reports whether the deletion has the whole hour of a row.
func (r *removal) covers(base uint32) bool {
	begin := int64(base) * 1000
	return r.deletion.Start <= begin && r.deletion.End >= begin+schema.RowSeconds*1000-1
}

// removeMany is remove when there are many rows.
func (r *removal) removeMany(ctx context.Context) error {
	if len(r.keys)+len(r.changes) < rowsPerRead {
		return nil
	}
	return r.remove(ctx)
}

// remove deletes from the rows that were found.
func (r *removal) remove(ctx context.Context) error {
	if r.shared != nil {
		defer func() { r.keys = r.keys[:0] }()
		return r.erase(ctx)
	}
	if len(r.keys) > 0 {
		held, err := r.table.db.Get(ctx, r.table.name, schema.FamilyData, r.keys)
		if err != nil {
			return err
		}
		for _, h := range held {
			r.change(h)
		}
	}
	r.keys = r.keys[:0]
	if len(r.changes) == 0 {
		return nil
	}
	slices.SortFunc(r.changes, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	if err := r.table.db.Put(ctx, r.table.name, schema.FamilyData, r.changes); err != nil {
		return err
	}
	r.rows += len(r.changes)
	clear(r.changes)
	r.changes = r.changes[:0]
	return nil
}

// change adds what a row needs.
func (r *removal) change(h kv.Row) {
	key, err := r.table.layout.ParseRowKey(h.Key)
	if err != nil || len(h.Cells) == 0 {
		return
	}
	if r.covers(key.Base) {
		r.changes = append(r.changes, kv.Mutation{Key: h.Key, DeleteRow: true})
		return
	}
	if err := r.content.Load(h.Cells); err != nil {
		r.broken = append(r.broken, h.Key)
		return
	}
	from, to := r.offsets(key.Base)
	if m, ok := r.content.Remove(h.Key, h.Cells, from, to); ok {
		r.changes = append(r.changes, m)
	}
}
