package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// Metrics implements Querier. A metric without a name is a NamelessError.
func (cat *Catalog) Metrics(ctx context.Context, start, end int64) ([]string, error) {
	return cat.metricsAs(ctx, start, end, whole)
}

// NamedMetrics is Metrics for jobs that must go on: metrics without a name are left out, and logged.
func (cat *Catalog) NamedMetrics(ctx context.Context, start, end int64) ([]string, error) {
	return cat.metricsAs(ctx, start, end, named)
}

func (cat *Catalog) metricsAs(ctx context.Context, start, end int64, as naming) ([]string, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	passes := cat.days.overlap(start, end)
	all, err := cat.allMetrics(ctx, passes)
	if err != nil {
		return nil, err
	}
	if err := query.AccountOf(ctx).Take(int64(len(all) * nameBytes)); err != nil {
		return nil, err
	}
	list := make([]string, 0, len(all))
	for metric, name := range all {
		if name != "" {
			list = append(list, name)
		} else if err := cat.lostMetric(ctx, metric, passes, as); err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return list, nil
}

// lostMetric returns the error of a metric without a name; nil if it may be left out.
func (cat *Catalog) lostMetric(ctx context.Context, metric string, passes func(index.ID) bool, as naming) error {
	if as == named {
		cat.warnNameless(storage.NamelessError{NoNameOfUIDError: storage.NoNameOfUIDError{Kind: storage.MetricName, UID: metric}})
		return nil
	}
	return cat.lost(ctx, storage.MetricName, metric, cat.passing([]string{metric}, nil, passes))
}

// passing returns the series that may satisfy conditions, and that pass (nil: all do).
func (cat *Catalog) passing(metrics []string, conditions []index.Condition, passes func(index.ID) bool) []index.ID {
	ids := cat.index.Candidates(metrics, conditions)
	if passes == nil {
		return ids
	}
	return slices.DeleteFunc(ids, func(id index.ID) bool { return !passes(id) })
}

// TagKeys implements Querier.
func (cat *Catalog) TagKeys(ctx context.Context, start, end int64) ([]string, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	passes := cat.days.overlap(start, end)
	return cat.list(ctx, storage.TagKeyName, cat.index.TagKeys(passes), func(key string) []index.ID {
		return cat.passing(nil, []index.Condition{{Keys: []string{key}}}, passes)
	})
}

// TagValues implements Querier.
func (cat *Catalog) TagValues(ctx context.Context, key string, start, end int64) ([]string, error) {
	if err := cat.o.Ready(); err != nil {
		return nil, err
	}
	keys, err := cat.lookup(ctx, storage.TagKeyName, []string{key})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	passes := cat.days.overlap(start, end)
	return cat.list(ctx, storage.TagValueName, cat.index.TagValues(keys[0], passes), func(value string) []index.ID {
		return cat.passing(nil, []index.Condition{{Keys: keys[:1], Values: map[string]bool{value: true}}}, passes)
	})
}

// list returns the names of UIDs in ascending order. One without a name that series have is a NamelessError.
func (cat *Catalog) list(ctx context.Context, kind storage.NameKind, uids []string, having func(uid string) []index.ID) ([]string, error) {
	if err := query.AccountOf(ctx).Take(int64(len(uids) * nameBytes)); err != nil {
		return nil, err
	}
	list, err := cat.uids.Names(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	for i, name := range list {
		if name == "" {
			if err := cat.lost(ctx, kind, uids[i], having(uids[i])); err != nil {
				return nil, err
			}
		}
	}
	list = slices.DeleteFunc(list, func(name string) bool { return name == "" })
	slices.Sort(list)
	return list, nil
}

func sortTags(tags []storage.Tag) {
	slices.SortFunc(tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
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
