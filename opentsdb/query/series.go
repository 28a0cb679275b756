package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// An ID is a name and its UID, by which a TSD orders names. Those of one kind are equal if their UIDs are.
type ID struct{ UID, Name string }

// A TagPair is a tag with the UIDs of its names.
type TagPair struct{ Key, Value ID }

// A Series is a group that expressions compute with. Its points are those of all that was read: a TSD
// reads whole hours around the time of a query.
type Series struct {
	Group
	MetricID   ID
	Pairs      []TagPair // Tags, in the order of the keys' UIDs
	Aggregated []ID      // AggregatedTags, in the order of their UIDs
}

// Series computes the groups of each sub query of a request that was checked. Those of equal sub queries share their
// points.
func (e *Engine) Series(ctx context.Context, r *Request) ([][]Series, error) {
	ctx = WithSteps(ctx)
	return r.eachOnce(ctx, func(i int) ([]Series, error) {
		groups, err := e.answer(ctx, r, i, true)
		if err != nil {
			return nil, err
		}
		return e.identified(ctx, groups)
	})
}

// identified adds the UIDs of the names of groups.
func (e *Engine) identified(ctx context.Context, groups []Group) ([]Series, error) {
	var metrics, keys, values []string
	for _, g := range groups {
		metrics, keys = append(metrics, g.Metric), append(keys, g.AggregatedTags...)
		for _, tag := range g.Tags {
			keys, values = append(keys, tag.Key), append(values, tag.Value)
		}
	}
	metric, err := e.idsOf(ctx, storage.MetricName, metrics)
	if err != nil {
		return nil, err
	}
	key, err := e.idsOf(ctx, storage.TagKeyName, keys)
	if err != nil {
		return nil, err
	}
	value, err := e.idsOf(ctx, storage.TagValueName, values)
	if err != nil {
		return nil, err
	}
	series := make([]Series, len(groups))
	for i, g := range groups {
		s := Series{Group: g, MetricID: metric(g.Metric)}
		for _, tag := range g.Tags {
			s.Pairs = append(s.Pairs, TagPair{key(tag.Key), value(tag.Value)})
		}
		for _, k := range g.AggregatedTags {
			s.Aggregated = append(s.Aggregated, key(k))
		}
		slices.SortFunc(s.Pairs, func(a, b TagPair) int { return cmp.Compare(a.Key.UID, b.Key.UID) })
		slices.SortFunc(s.Aggregated, func(a, b ID) int { return cmp.Compare(a.UID, b.UID) })
		series[i] = s
	}
	return series, nil
}
