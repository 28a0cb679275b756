package catalog

import (
	"context"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// Cardinality counts what the index has; each list has at most limit entries. What has lost its
// name is left out.
func (cat *activity) Cardinality(ctx context.Context, limit int) (storage.Cardinality, error) {
	if err := cat.o.Ready(); err != nil {
		return storage.Cardinality{}, err
	}
	x := cat.index.Cardinality(limit)
	c := storage.Cardinality{Series: x.Series, Metrics: x.Metrics, Tags: x.Tags}
	c.First, c.Last = cat.allDays()
	c.Rows = cat.o.OpenRows()
	var err error
	for _, list := range []struct {
		to   *[]storage.NamedCount
		from []index.Count
		kind storage.NameKind
	}{
		{&c.SeriesByMetric, x.SeriesByMetric, storage.MetricName},
		{&c.ValuesByKey, x.ValuesByKey, storage.TagKeyName},
		{&c.BytesByKey, x.BytesByKey, storage.TagKeyName},
		{&c.SeriesByTag, x.SeriesByTag, storage.TagKeyName},
	} {
		if *list.to, err = cat.nameCounts(ctx, list.kind, list.from); err != nil {
			return storage.Cardinality{}, err
		}
	}
	return c, nil
}

func (cat *activity) nameCounts(ctx context.Context, kind storage.NameKind, counts []index.Count) ([]storage.NamedCount, error) {
	keys, values := make([]string, len(counts)), make([]string, len(counts))
	for i, c := range counts {
		keys[i], values[i] = c.Key, c.Value
	}
	keys, err := cat.uids.Names(ctx, kind, keys)
	if err != nil {
		return nil, err
	}
	if len(counts) > 0 && counts[0].Value != "" {
		if values, err = cat.uids.Names(ctx, storage.TagValueName, values); err != nil {
			return nil, err
		}
	}
	named := make([]storage.NamedCount, 0, len(counts))
	for i, c := range counts {
		if keys[i] != "" && (c.Value == "" || values[i] != "") {
			named = append(named, storage.NamedCount{Key: keys[i], Value: values[i], Count: c.Count})
		}
	}
	return named, nil
}

// allDays returns the first and the last millisecond of the days in which series have points; 0 and
// 0 if that is not known, or there are none.
func (cat *activity) allDays() (first, last int64) {
	if cat.days == nil {
		return 0, 0
	}
	from, to := math.MaxInt, -1
	for id := range cat.index.Len() {
		d := cat.days.all(index.ID(id))
		if d != noDays && d != everyDay {
			from, to = min(from, int(d.first())), max(to, int(d.last()))
		}
	}
	if to < 0 {
		return 0, 0
	}
	return int64(from) * dayMillis, int64(to+1)*dayMillis - 1
}
