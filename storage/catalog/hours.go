package catalog

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"sort"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// SeriesHours returns how many rows of the data table, each an hour of a series, there may be from
// one row key up to another (nil: the end): those of the days in which the series of the index have
// points. The rows themselves are not read. It is for the time after Run has loaded the index.
func (cat *Catalog) SeriesHours(from, to []byte) (hours int) {
	if !cat.registry.Loaded() {
		return 0
	}
	var key []byte
	for id := range index.ID(cat.index.Len()) {
		tsuid := []byte(cat.index.TSUID(id))
		first, after := cat.hoursOf(id)
		// The keys of a series ascend with the hour.
		count := func(limit []byte) int {
			return sort.Search(after-first, func(n int) bool {
				key = cat.layout.AppendRowKey(key[:0], tsuid, uint32(first+n)*schema.RowSeconds)
				return bytes.Compare(key, limit) >= 0
			})
		}
		end := after - first
		if to != nil {
			end = count(to)
		}
		hours += max(0, end-count(from))
	}
	return hours
}

// hoursOf returns the hours, since 1970, in which a series may have points, up to a day from now;
// the hour after is not one of them.
func (cat *Catalog) hoursOf(id index.ID) (first, after int) {
	from, to, ok := cat.days.Hours(id)
	if !ok {
		return 0, 0
	}
	tomorrow := cat.o.Now().Add(24*time.Hour).Unix() / schema.RowSeconds
	return int(from / schema.RowSeconds), min(int(to/schema.RowSeconds)+1, int(tomorrow))
}

// RowText describes, for people, which row a key of the data table is of.
func (cat *Catalog) RowText(ctx context.Context, key []byte) string {
	k, err := cat.layout.ParseRowKey(key)
	if err != nil {
		return hex.EncodeToString(key)
	}
	name := fmt.Sprintf("metric %x", k.Metric)
	if names, err := cat.uids.Names(ctx, schema.Metric, []string{string(k.Metric)}); err == nil && len(names) == 1 && names[0] != "" {
		name = fmt.Sprintf("%q", names[0])
	}
	return fmt.Sprintf("%s at %s", name, time.Unix(int64(k.Base), 0).UTC().Format(time.RFC3339))
}

// NextHour returns the first hour (its begin, in milliseconds) from a time on in which a metric may have
// points; ok is false if there is none. On shared tables it is the hour of a row: points that are only
// in the memory of a process may be in hours before it, or after the last one.
func (cat *Catalog) NextHour(ctx context.Context, metric string, from int64) (hour int64, ok bool, err error) {
	if err := cat.o.Ready(); err != nil {
		return 0, false, err
	}
	uids, err := cat.lookup(ctx, schema.Metric, []string{metric})
	if err != nil || len(uids) == 0 || from > series.MaxTime {
		return 0, false, err
	}
	begin, next := schema.Base(max(from, 0)), int64(-1)
	note := func(base uint32) {
		if next < 0 || int64(base) < next {
			next = int64(base)
		}
	}
	if cat.days != nil {
		for _, id := range cat.index.Candidates(uids, nil) {
			if first, last, ok := cat.days.Hours(id); ok && last >= begin {
				note(max(first, begin))
			}
		}
		return next * 1000, next >= 0, nil
	}
	for bucket := range cat.layout.Buckets() {
		scan := row.ScanMetric(cat.layout, cat.o.Tables.Data, bucket, uids[0], begin, schema.Base(series.MaxTime))
		scan.KeysOnly, scan.Limit = true, 1
		for found, err := range cat.db.Scan(ctx, scan) {
			if err != nil {
				return 0, false, fmt.Errorf("find the next row of metric %q: %w", metric, err)
			}
			key, err := cat.layout.ParseRowKey(found.Key)
			if err != nil {
				return 0, false, err
			}
			note(key.Base)
		}
	}
	return next * 1000, next >= 0, nil
}
