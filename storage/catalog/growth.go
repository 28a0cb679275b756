package catalog

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// activity is when series were registered and have points.
type activity struct {
	discovery
	days   *Days
	births *Births
}

// Growth counts the series by the days in which they were registered.
func (cat *activity) Growth(ctx context.Context, q storage.GrowthQuery) (storage.Growth, error) {
	g := storage.Growth{ByDay: make([]int, max(0, q.Last-q.First+1))}
	if err := cat.o.Ready(); err != nil {
		return g, err
	}
	if from := cat.births.from.Load(); from > 0 {
		g.Since = time.UnixMilli(from)
	}
	some := index.NewSome(cat.index.Len(), func(id index.ID) bool {
		if !cat.registry.Of(id).Exists() {
			return false
		}
		g.Series++
		day := cat.births.registered(id)
		switch {
		case day < 0:
			g.Unknown++
			return false
		case q.First <= day && day <= q.Last:
			g.ByDay[day-q.First]++
		}
		return q.From <= day && day <= q.To
	})
	var err error
	g.Registered, err = cat.shares(ctx, some, q.Limit)
	return g, err
}

// Silence counts the series that have no points since a day, as far as their days tell: they may name later days than the
// points have.
func (cat *activity) Silence(ctx context.Context, since, limit int) (storage.Silence, error) {
	s := storage.Silence{}
	if err := cat.o.Ready(); err != nil || cat.days == nil {
		return s, err
	}
	s.Known = true
	some := index.NewSome(cat.index.Len(), func(id index.ID) bool {
		if !cat.registry.Of(id).Exists() {
			return false
		}
		s.Series++
		d := cat.days.all(id)
		if d == noDays {
			s.Never++
		}
		return d == noDays || int(d.last()) < since
	})
	var err error
	if s.Silent, err = cat.shares(ctx, some, limit); err != nil {
		return s, err
	}
	s.Examples, err = cat.silentExamples(ctx, some, limit)
	return s, err
}

func (cat *activity) silentExamples(ctx context.Context, some *index.Some, limit int) ([]storage.SilentSeries, error) {
	var ids []index.ID
	some.Each(func(id index.ID) bool {
		ids = append(ids, id)
		return len(ids) < limit
	})
	names, err := cat.NameSeries(ctx, cat.index.TSUIDBytes(nil, ids))
	if err != nil {
		return nil, err
	}
	list := make([]storage.SilentSeries, 0, len(names))
	for _, s := range names {
		id, ok := cat.index.Lookup(s.TSUID)
		if !ok {
			continue // it was deleted meanwhile
		}
		last := -1
		if d := cat.days.all(id); d != noDays {
			last = int(d.last())
		}
		list = append(list, storage.SilentSeries{Series: s.Series, Last: last})
	}
	return list, nil
}

func (cat *activity) shares(ctx context.Context, some *index.Some, limit int) (storage.SeriesShares, error) {
	x := cat.index.SharesOf(some, limit)
	s := storage.SeriesShares{Series: some.Size()}
	var err error
	for _, list := range []struct {
		to   *[]storage.NamedCount
		from []index.Count
		kind storage.NameKind
	}{{&s.ByMetric, x.ByMetric, storage.MetricName}, {&s.ByKey, x.ByKey, storage.TagKeyName}, {&s.ByTag, x.ByTag, storage.TagKeyName}} {
		if *list.to, err = cat.nameCounts(ctx, list.kind, list.from); err != nil {
			return s, err
		}
	}
	return s, nil
}
