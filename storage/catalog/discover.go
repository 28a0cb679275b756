package catalog

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// concurrentDiscoveries is how many metrics or salt buckets are scanned at a time.
const concurrentDiscoveries = 8

// maxMatchValues bounds the values of a row-key condition, as OpenTSDB's
// tsd.query.filter.expansion_limit does.
const maxMatchValues = 4096

// coverage remembers, by table and metric, which rows were searched for series that tsdb-meta lacks.
type coverage struct {
	mu      sync.Mutex // guards metrics
	metrics map[metricRows]*covered
}

// metricRows are the rows of a metric in the data table, or in one of rollups.
type metricRows struct{ table, metric string }

// covered is what was searched of one metric: all series with rows from base lo to base hi that
// were written before checked are known.
type covered struct {
	mu      sync.Mutex // held during the search; guards all below
	any     bool
	lo, hi  uint32 // base times, inclusive
	checked int64  // milliseconds
}

func (c *coverage) of(metric metricRows) *covered {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.metrics == nil {
		c.metrics = map[metricRows]*covered{}
	}
	m := c.metrics[metric]
	if m == nil {
		m = &covered{}
		c.metrics[metric] = m
	}
	return m
}

// discovery finds the series that the tables have and the index does not.
type discovery struct {
	namer
	registry *Registry
	cover    coverage
	foreign  foreignMetrics
}

// discover adds to the index the series that have rows between start and end (milliseconds)
// although tsdb-meta lacks them: a TSD whose meta tracking is off writes such rows. Engines that
// only this process writes to have none.
func (cat *discovery) discover(ctx context.Context, f *finder, start, end int64) error {
	if cat.db.Exclusive || cat.o.Index == storage.IndexMeta {
		return nil
	}
	lo, hi := schema.Base(min(max(start, 0), storage.MaxTime)), schema.Base(min(max(end, 0), storage.MaxTime))
	metrics := f.metrics
	if metrics == nil {
		all, err := cat.allMetrics(ctx, nil)
		if err != nil {
			return err
		}
		metrics = slices.Sorted(maps.Keys(all))
	}
	tags := f.rowTags()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentDiscoveries)
	for _, metric := range metrics {
		group.Go(func() error { return cat.discoverMetric(ctx, metricRows{cat.o.Tables.Data, metric}, tags, lo, hi) })
	}
	return group.Wait()
}

// DiscoverRolled adds to the index the series that have rows in a table of rollups with base times from
// lo to hi, though tsdb-meta lacks them: a TSD never writes these when it takes rolled up values. metric is
// a UID. RolledTimes tells between which times series are to be looked for then.
func (cat *discovery) DiscoverRolled(ctx context.Context, table, metric string, lo, hi uint32) error {
	if cat.db.Exclusive || cat.o.Index == storage.IndexMeta {
		return nil
	}
	return cat.discoverMetric(ctx, metricRows{table, metric}, nil, lo, hi)
}

// RolledTimes returns the times (milliseconds) between which series are to be looked for that may have rolled up values
// between two times: days are recorded of points alone, which may be gone.
func (cat *discovery) RolledTimes(start, end int64) (from, to int64) {
	if cat.db.Exclusive {
		return 0, storage.MaxTime
	}
	return start, end
}

func (cat *discovery) discoverMetric(ctx context.Context, metric metricRows, tags []kv.Tag, lo, hi uint32) error {
	c := cat.cover.of(metric)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !cat.registry.hasMetric(metric.metric) && len(tags) > 0 && (!c.any || lo < c.lo || hi > c.hi) {
		// Nothing but the row keys knows this metric, and the query wants little of it: let the
		// engine pick, by row-key regexp on HBase, as a TSD does. What passes is added; the rest
		// stays unknown, so nothing is noted as covered.
		return cat.scanSeries(ctx, metric, tags, lo, hi, 0)
	}
	return c.extend(ctx, cat, metric, lo, hi)
}

// extend searches what is new or was never searched of the hours lo to hi.
func (c *covered) extend(ctx context.Context, s *discovery, metric metricRows, lo, hi uint32) error {
	now := s.o.Now().UnixMilli()
	if !c.any {
		if err := s.scanSeries(ctx, metric, nil, lo, hi, 0); err != nil {
			return err
		}
		c.any, c.lo, c.hi, c.checked = true, lo, hi, now
		return nil
	}
	if now-c.checked >= s.o.IndexRefresh.Milliseconds() {
		if err := s.scanSeries(ctx, metric, nil, c.lo, c.hi, c.checked-RefreshMargin.Milliseconds()); err != nil {
			return err
		}
		c.checked = now
	}
	if lo < c.lo {
		if err := s.scanSeries(ctx, metric, nil, lo, c.lo, 0); err != nil {
			return err
		}
		c.lo = lo
	}
	if hi > c.hi {
		if err := s.scanSeries(ctx, metric, nil, c.hi, hi, 0); err != nil {
			return err
		}
		c.hi = hi
	}
	return nil
}

// scanSeries adds the series of a metric with rows in the hours lo to hi, inclusive, that have the
// tags and cells written at or after since.
func (cat *discovery) scanSeries(ctx context.Context, metric metricRows, tags []kv.Tag, lo, hi uint32, since int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentDiscoveries)
	for bucket := range cat.layout.Buckets() {
		scan := row.ScanMetric(cat.layout, metric.table, bucket, metric.metric, lo, hi)
		scan.KeysOnly, scan.Since = true, since
		if tags != nil {
			scan.Match = &kv.Match{Prefix: cat.layout.PrefixWidth(), Key: cat.layout.TagkWidth, Value: cat.layout.TagvWidth, Tags: tags}
		}
		group.Go(func() error {
			if err := cat.addSeries(ctx, scan); err != nil {
				return fmt.Errorf("find the series of metric %x by row keys: %w", metric.metric, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (cat *discovery) addSeries(ctx context.Context, scan kv.Scan) error {
	var tsuid []byte
	rows := 0
	defer func() { cat.metrics.discoverRows.Add(float64(rows)) }()
	for row, err := range cat.db.Scan(ctx, scan) {
		if err != nil {
			return err
		}
		rows++
		key, err := cat.layout.ParseRowKey(row.Key)
		if err != nil {
			return storage.RowError{Err: schema.RowFault(cat.layout, scan.Table, row.Key, err)}
		}
		tsuid = key.AppendTSUID(tsuid[:0])
		id, added, err := cat.index.Add(tsuid)
		if err != nil {
			return err
		}
		if !added {
			cat.registry.Found(id)
		}
	}
	return nil
}

// rowTags returns the conditions that a row key can be asked for: one key with literal values.
func (f *finder) rowTags() []kv.Tag {
	var tags []kv.Tag
	room := maxMatchValues
	for _, c := range f.conditions {
		if c.Absent || c.Values == nil || len(c.Keys) != 1 || len(c.Or) > 0 || len(c.Values) > room || hasTag(tags, c) {
			continue
		}
		room -= len(c.Values)
		tag := kv.Tag{Key: []byte(c.Keys[0]), Values: [][]byte{}}
		for _, value := range slices.Sorted(maps.Keys(c.Values)) {
			tag.Values = append(tag.Values, []byte(value))
		}
		tags = append(tags, tag)
	}
	slices.SortFunc(tags, func(a, b kv.Tag) int { return bytes.Compare(a.Key, b.Key) })
	return tags
}

func hasTag(tags []kv.Tag, c index.Condition) bool {
	return slices.ContainsFunc(tags, func(t kv.Tag) bool { return string(t.Key) == c.Keys[0] })
}
