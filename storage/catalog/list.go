package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// Metrics implements Querier.
func (cat *Catalog) Metrics(ctx context.Context, start, end int64) ([]string, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	all, err := cat.allMetrics(ctx, cat.days.overlap(start, end))
	if err != nil {
		return nil, err
	}
	if err := budget.From(ctx).Take(int64(len(all) * nameBytes)); err != nil {
		return nil, err
	}
	list := make([]string, 0, len(all))
	for _, name := range all {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, nil
}

// TagKeys implements Querier.
func (cat *Catalog) TagKeys(ctx context.Context, start, end int64) ([]string, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	return cat.list(ctx, schema.Tagk, cat.index.TagKeys(cat.days.overlap(start, end)))
}

// TagValues implements Querier.
func (cat *Catalog) TagValues(ctx context.Context, key string, start, end int64) ([]string, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	keys, err := cat.lookup(ctx, schema.Tagk, []string{key})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return cat.list(ctx, schema.Tagv, cat.index.TagValues(keys[0], cat.days.overlap(start, end)))
}

// list returns the names of UIDs in ascending order, without those that have none.
func (cat *Catalog) list(ctx context.Context, kind schema.Kind, uids []string) ([]string, error) {
	if err := budget.From(ctx).Take(int64(len(uids) * nameBytes)); err != nil {
		return nil, err
	}
	list, err := cat.uids.Names(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(name string) bool { return name == "" })
	slices.Sort(list)
	return list, nil
}

func sortTags(tags []series.Tag) {
	slices.SortFunc(tags, func(a, b series.Tag) int { return strings.Compare(a.Key, b.Key) })
}

func intersectStrings(a, b []string) []string {
	var common []string
	for _, s := range a {
		if slices.Contains(b, s) {
			common = append(common, s)
		}
	}
	return common
}
