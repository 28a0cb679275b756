package catalog

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// metricList is the metrics of tsdb-uid in the order of their UIDs; without begin there are none.
type metricList struct {
	next func() (kv.Row, error, bool)
	stop func()
	peek []byte // read, not taken
}

// begin opens the list. Metrics without a name are left out: their series could not be named
// either.
func (t *tableScan) begin(ctx context.Context) {
	s := t.catalog
	scan := kv.Scan{Table: s.o.Tables.UID, Family: schema.FamilyName, Qualifier: schema.UIDQualifier(storage.MetricName)}
	if width := s.layout.MetricWidth; len(t.from) >= width {
		scan.Start = t.from[:width]
	}
	t.next, t.stop = iter.Pull2(s.db.Scan(ctx, scan))
}

func (t *tableScan) end() { t.stop() }

// before takes the next metric before a bound (nil: none), itself left out; nil when there is none.
func (t *tableScan) before(bound []byte) ([]byte, error) {
	for t.next != nil && t.peek == nil {
		row, err, more := t.next()
		if err != nil {
			return nil, fmt.Errorf("list the metrics: %w", err)
		}
		if !more {
			return nil, nil
		}
		if len(row.Key) == t.catalog.layout.MetricWidth {
			t.peek = row.Key
		}
	}
	if bound != nil && bytes.Compare(t.peek, bound) >= 0 {
		return nil, nil
	}
	metric := t.peek
	t.peek = nil
	return metric, nil
}

// until takes the series of the metrics before a bound that tsdb-meta has no row of: nothing but
// row keys knows them.
func (t *tableScan) until(ctx context.Context, bound []byte) error {
	for {
		var metrics [][]byte
		for len(metrics) < concurrentDiscoveries {
			metric, err := t.before(bound)
			if err != nil {
				return err
			}
			if metric == nil {
				break
			}
			if !bytes.Equal(metric, t.metric) {
				metrics = append(metrics, metric)
			}
		}
		if len(metrics) == 0 {
			return nil
		}
		if err := t.unlisted(ctx, metrics); err != nil {
			return err
		}
	}
}

func (t *tableScan) unlisted(ctx context.Context, metrics [][]byte) error {
	found := make([][][]byte, len(metrics))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, metric := range metrics {
		group.Go(func() (err error) {
			found[i], err = t.rowsOf(groupCtx, metric)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, tsuid := range slices.Concat(found...) {
		if err := t.add(tsuid); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf lists the series of a metric by the row keys of all times.
func (t *tableScan) rowsOf(ctx context.Context, metric []byte) ([][]byte, error) {
	s := t.catalog
	buckets := make([]map[string]struct{}, s.layout.Buckets())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentDiscoveries)
	for bucket := range buckets {
		group.Go(func() error {
			set, err := s.seriesOfRows(ctx, row.ScanMetric(s.layout, s.o.Tables.Data, bucket, string(metric), 0, math.MaxUint32-1))
			buckets[bucket] = set
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("find the series of metric %x by row keys: %w", metric, err)
	}
	var all [][]byte
	for _, set := range buckets {
		for tsuid := range set {
			all = append(all, []byte(tsuid))
		}
	}
	slices.SortFunc(all, bytes.Compare)
	// a row in the wrong bucket counts, as it does for OpenTSDB's queries
	return slices.CompactFunc(all, bytes.Equal), nil
}

func (cat *discovery) seriesOfRows(ctx context.Context, scan kv.Scan) (map[string]struct{}, error) {
	scan.KeysOnly = true
	set := map[string]struct{}{}
	var tsuid []byte
	for row, err := range cat.db.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		key, err := cat.layout.ParseRowKey(row.Key)
		if err != nil {
			return nil, err
		}
		tsuid = key.AppendTSUID(tsuid[:0])
		if _, ok := set[string(tsuid)]; !ok {
			set[string(tsuid)] = struct{}{}
		}
	}
	return set, nil
}
