package catalog

import (
	"context"
	"math"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// NamedCount is how many there are of something with a stored name.
type NamedCount struct {
	Key   string // metric or tag key
	Value string // tag value; of tags alone
	Count int
}

// Cardinality tells how many series a store has and what they have most of. Lists are descending.
type Cardinality struct {
	Series, Metrics, Tags int // Tags: pairs of key and value
	Rows                  int // open hours in memory
	// First and Last are the days in which there may be points, in milliseconds; where other
	// processes write that is not known, and both are 0.
	First, Last int64

	SeriesByMetric, ValuesByKey, BytesByKey, SeriesByTag []NamedCount
}

// Cardinality counts what the index has; each list has at most limit entries. What has lost its
// name is left out.
func (cat *Catalog) Cardinality(ctx context.Context, limit int) (Cardinality, error) {
	if err := cat.o.Ready(); err != nil {
		return Cardinality{}, err
	}
	x := cat.index.Cardinality(limit)
	c := Cardinality{Series: x.Series, Metrics: x.Metrics, Tags: x.Tags}
	c.First, c.Last = cat.allDays()
	c.Rows = cat.o.OpenRows()
	var err error
	for _, list := range []struct {
		to   *[]NamedCount
		from []index.Count
		kind schema.Kind
	}{
		{&c.SeriesByMetric, x.SeriesByMetric, schema.Metric},
		{&c.ValuesByKey, x.ValuesByKey, schema.Tagk},
		{&c.BytesByKey, x.BytesByKey, schema.Tagk},
		{&c.SeriesByTag, x.SeriesByTag, schema.Tagk},
	} {
		if *list.to, err = cat.nameCounts(ctx, list.kind, list.from); err != nil {
			return Cardinality{}, err
		}
	}
	return c, nil
}

func (cat *Catalog) nameCounts(ctx context.Context, kind schema.Kind, counts []index.Count) ([]NamedCount, error) {
	keys, values := make([]string, len(counts)), make([]string, len(counts))
	for i, c := range counts {
		keys[i], values[i] = c.Key, c.Value
	}
	keys, err := cat.uids.Names(ctx, kind, keys)
	if err != nil {
		return nil, err
	}
	if len(counts) > 0 && counts[0].Value != "" {
		if values, err = cat.uids.Names(ctx, schema.Tagv, values); err != nil {
			return nil, err
		}
	}
	named := make([]NamedCount, 0, len(counts))
	for i, c := range counts {
		if keys[i] != "" && (c.Value == "" || values[i] != "") {
			named = append(named, NamedCount{keys[i], values[i], c.Count})
		}
	}
	return named, nil
}

// allDays returns the first and the last millisecond of the days in which series have points; 0 and
// 0 if that is not known, or there are none.
func (cat *Catalog) allDays() (first, last int64) {
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
