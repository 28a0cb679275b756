package migrate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// raw prints the rows of the selected series and hours.
func (e *ExportOptions) raw(ctx context.Context, o adapter.Options, to io.Writer) error {
	if o.Engine == tables.EngineMemory {
		return errors.New("--storage.engine=memory keeps nothing that another process could open")
	}
	return tables.Read(ctx, o.Options, func(db kv.KV, store *store.Store) error { return e.rawRows(ctx, o, db, store, to) })
}

func (e *ExportOptions) rawRows(ctx context.Context, o adapter.Options, db kv.KV, store *store.Store, to io.Writer) error {
	r := &rawReader{o: o, db: db, store: store, out: bufio.NewWriterSize(to, 64<<10), first: schema.Base(e.start), last: schema.Base(e.end)}
	var metrics []string
	for _, text := range e.Match {
		m, err := query.ParseMatch(text)
		if err != nil {
			return err
		}
		r.matches = append(r.matches, m)
		if metrics = append(metrics, m.Metric); m.Metric == query.AnyMetric {
			r.all = true
		}
	}
	if len(r.matches) == 0 || r.all {
		err := r.scan(ctx, kv.Scan{})
		return errors.Join(err, r.out.Flush())
	}
	uids, err := store.Names().Lookup(ctx, storage.MetricName, metrics)
	if err != nil {
		return err
	}
	seen := map[string]bool{"": true} // no UID: no rows
	for _, uid := range uids {
		for bucket := range o.Layout().Buckets() {
			if !seen[uid] && err == nil {
				err = r.scan(ctx, kv.Scan{
					Start: o.Layout().AppendRangeKey(nil, bucket, []byte(uid), r.first), Stop: o.Layout().AppendRangeKey(nil, bucket, []byte(uid), r.last+1),
				})
			}
		}
		seen[uid] = true
	}
	return errors.Join(err, r.out.Flush())
}

// A rawReader prints rows.
type rawReader struct {
	o           adapter.Options
	db          kv.KV
	store       *store.Store
	out         *bufio.Writer
	matches     []query.Match
	all         bool   // of all metrics
	first, last uint32 // base times
	text        []byte
}

// scan prints the rows of a scan that are selected.
func (r *rawReader) scan(ctx context.Context, scan kv.Scan) error {
	scan.Table, scan.Family = r.o.TableData, schema.FamilyData
	for row, err := range r.db.Scan(ctx, scan) {
		if err == nil {
			err = r.row(ctx, row)
		}
		if err != nil {
			return fmt.Errorf("read the rows of %s: %w", r.o.TableData, err)
		}
	}
	return nil
}

func (r *rawReader) row(ctx context.Context, row kv.Row) error {
	key, err := r.o.Layout().ParseRowKey(row.Key)
	if err != nil || key.Base < r.first || key.Base > r.last {
		return nil //nolint:nilerr // another key is of no series
	}
	tsuid := [][]byte{key.AppendTSUID(nil)}
	named, err := r.store.Catalog().NameSeries(ctx, tsuid)
	if err != nil {
		return err
	}
	var s storage.Series
	if len(named) > 0 { // a UID may have lost its name
		s = named[0].Series
	}
	selected := len(r.matches) == 0
	for _, m := range r.matches {
		selected = selected || m.Selects(s)
	}
	if !selected {
		_, err := r.store.Catalog().NameAll(ctx, tsuid) // without its name it may be one that is wanted
		return err
	}
	cells := make([]tsdtext.RawCell, len(row.Cells))
	for i, c := range row.Cells {
		cells[i] = tsdtext.RawCell{Qualifier: c.Qualifier, Value: c.Value}
	}
	r.text = tsdtext.AppendRawRow(r.text[:0], key, row.Key, s, cells)
	_, err = r.out.Write(r.text)
	return err
}
