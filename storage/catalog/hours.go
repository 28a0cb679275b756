package catalog

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"sort"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// SeriesHours returns how many rows of the data table, each an hour of a series, there may be from
// one row key up to another (nil: the end): those of the days in which the series of the index have
// points. The rows themselves are not read. It is for the time after Run has loaded the index.
func (cat *activity) SeriesHours(from, to []byte) (hours int) {
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
func (cat *activity) hoursOf(id index.ID) (first, after int) {
	from, to, ok := cat.days.Hours(id)
	if !ok {
		return 0, 0
	}
	tomorrow := cat.o.Now().Add(24*time.Hour).Unix() / schema.RowSeconds
	return int(from / schema.RowSeconds), min(int(to/schema.RowSeconds)+1, int(tomorrow))
}

// RowText describes, for people, which row a key of the data table is of.
func (cat *namer) RowText(ctx context.Context, key []byte) string {
	k, err := cat.layout.ParseRowKey(key)
	if err != nil {
		return hex.EncodeToString(key)
	}
	name := fmt.Sprintf("metric %x", k.Metric)
	if names, err := cat.uids.Names(ctx, storage.MetricName, []string{string(k.Metric)}); err == nil && len(names) == 1 && names[0] != "" {
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
	uids, err := cat.lookup(ctx, storage.MetricName, []string{metric})
	if err != nil || len(uids) == 0 || from > storage.MaxTime {
		return 0, false, err
	}
	begin := schema.Base(max(from, 0))
	var next earliest
	if cat.days == nil {
		err = cat.nextRow(ctx, uids[0], begin, &next)
	} else {
		err = cat.nextOwn(ctx, uids[0], begin, &next)
	}
	return int64(next.base) * 1000, next.ok, err
}

// earliest is the first of some hours.
type earliest struct {
	base uint32
	ok   bool
}

func (e *earliest) note(base uint32) {
	if !e.ok || base < e.base {
		*e = earliest{base, true}
	}
}

// nextOwn notes the first hour from begin on in which a metric may have points, where no other process
// writes. The days of its series are its first and its last ones, between which there may be none for
// years: one sample with the time 0 is enough. Then its rows are looked for, in memory before the table,
// where a flush puts them.
func (cat *activity) nextOwn(ctx context.Context, metric string, begin uint32, next *earliest) error {
	ids := cat.index.Candidates([]string{metric}, nil)
	var may earliest
	for _, id := range ids {
		if first, last, ok := cat.days.Hours(id); ok && last >= begin {
			may.note(max(first, begin))
		}
	}
	if !may.ok || may.base > begin {
		*next = may
		return nil
	}
	for _, id := range ids {
		cat.o.HeadHours(id, func(base uint32) {
			if base >= begin {
				next.note(base)
			}
		})
	}
	return cat.nextRow(ctx, metric, begin, next)
}

// nextRow notes the hour of the first row of a metric from begin on.
func (cat *discovery) nextRow(ctx context.Context, metric string, begin uint32, next *earliest) error {
	for bucket := range cat.layout.Buckets() {
		scan := row.ScanMetric(cat.layout, cat.o.Tables.Data, bucket, metric, begin, schema.Base(storage.MaxTime))
		scan.KeysOnly, scan.Limit = true, 1
		for found, err := range cat.db.Scan(ctx, scan) {
			if err != nil {
				return fmt.Errorf("find the next row of metric %x: %w", metric, err)
			}
			key, err := cat.layout.ParseRowKey(found.Key)
			if err != nil {
				return err
			}
			next.note(key.Base)
		}
	}
	return nil
}
