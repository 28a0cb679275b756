package catalog

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// Shares is how many of some series have a metric, a tag key, a tag: what most of them have, descending.
type Shares struct {
	Series int

	ByMetric, ByKey, ByTag []NamedCount
}

// A Growth tells when the series were registered that there are.
type Growth struct {
	// Since is when this process had read which series there are, if others write to the tables too: of those that
	// were there before, the day is not known. Zero: of all series it is.
	Since  time.Time
	Series int // now
	// ByDay are the series registered in each day that was asked for, Unknown those of which the day is
	// not known.
	ByDay   []int
	Unknown int
	// Registered are those of the days from one to another.
	Registered Shares
}

// A GrowthQuery asks for days, which are numbered since 1970 (UTC).
type GrowthQuery struct {
	First, Last int // of ByDay, inclusive
	From, To    int // of Registered, inclusive
	Limit       int // of its lists
}

// DayOf returns the number of the day of a time.
func DayOf(t time.Time) int { return int(t.UnixMilli() / dayMillis) }

// Growth counts the series by the days in which they were registered.
func (cat *Catalog) Growth(ctx context.Context, q GrowthQuery) (Growth, error) {
	g := Growth{ByDay: make([]int, max(0, q.Last-q.First+1))}
	if err := cat.o.Ready(); err != nil {
		return g, err
	}
	if from := cat.births.from.Load(); from > 0 {
		g.Since = time.UnixMilli(from)
	}
	some := cat.index.Some(func(id index.ID) bool {
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

// A Silence tells which series have no points since a day.
type Silence struct {
	// Known is false on tables that other processes write to: all below is 0.
	Known  bool
	Series int // now
	Never  int // series without points at all
	Silent Shares
	// Examples are some of the silent series, with the last day in which each may have points; -1: none.
	Examples []SilentSeries
}

// A SilentSeries is a series without points since a day.
type SilentSeries struct {
	series.Series
	Last int
}

// Silence counts the series that have no points since a day, as far as their days tell: they may name later days than the
// points have.
func (cat *Catalog) Silence(ctx context.Context, since, limit int) (Silence, error) {
	s := Silence{}
	if err := cat.o.Ready(); err != nil || cat.days == nil {
		return s, err
	}
	s.Known = true
	some := cat.index.Some(func(id index.ID) bool {
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

func (cat *Catalog) silentExamples(ctx context.Context, some *index.Some, limit int) ([]SilentSeries, error) {
	var ids []index.ID
	some.Each(func(id index.ID) bool {
		ids = append(ids, id)
		return len(ids) < limit
	})
	names, err := cat.NameSeries(ctx, cat.index.TSUIDBytes(nil, ids))
	if err != nil {
		return nil, err
	}
	list := make([]SilentSeries, 0, len(names))
	for _, s := range names {
		id, ok := cat.index.Lookup(s.TSUID)
		if !ok {
			continue // it was deleted meanwhile
		}
		last := -1
		if d := cat.days.all(id); d != noDays {
			last = int(d.last())
		}
		list = append(list, SilentSeries{s.Series, last})
	}
	return list, nil
}

func (cat *Catalog) shares(ctx context.Context, some *index.Some, limit int) (Shares, error) {
	x := cat.index.SharesOf(some, limit)
	s := Shares{Series: some.Size()}
	var err error
	for _, list := range []struct {
		to   *[]NamedCount
		from []index.Count
		kind schema.Kind
	}{{&s.ByMetric, x.ByMetric, schema.Metric}, {&s.ByKey, x.ByKey, schema.Tagk}, {&s.ByTag, x.ByTag, schema.Tagk}} {
		if *list.to, err = cat.nameCounts(ctx, list.kind, list.from); err != nil {
			return s, err
		}
	}
	return s, nil
}
