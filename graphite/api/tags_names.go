package api

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
)

// Lists of tags and values come from the lists of names that the store keeps, so that they cost
// what there are of names, not of series. Labels that are packed are in no such list; the few
// series that have some are looked at one by one.

// allTags returns the tags of all series.
func (a *tagIndex) allTags(ctx context.Context) (textSet, error) {
	tags := textSet{}
	err := a.eachKey(ctx, func(_, label string) error {
		tags.add(tagspec.Tag(label))
		return nil
	}, func(ls labels.Labels) {
		ls.Range(func(l labels.Label) { tags.add(tagspec.Tag(l.Name)) })
	})
	if len(tags) > 0 {
		tags.add(tagspec.Name)
	}
	return tags, err
}

// eachKey visits the keys of tags that are labels of their own, and the series that have further
// labels.
func (a *tagIndex) eachKey(ctx context.Context, visit func(key, label string) error, packed func(labels.Labels)) error {
	keys, err := a.store.TagKeys(ctx, 0, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("list tags: %w", err)
	}
	for _, key := range keys {
		if key == translate.PackedKey {
			if err := a.eachOf(ctx, []storage.Filter{{Keys: []string{key}}}, a.limits.Series, packed); err != nil {
				return err
			}
		}
		if label, ok := a.names.Label(key); ok {
			if err := visit(key, label); err != nil {
				return err
			}
		}
	}
	return nil
}

// allValues returns the values of a label in all series. Of the values of the metric name it
// returns only the first that pass, up to a limit above 0.
func (a *tagIndex) allValues(ctx context.Context, label string, passes func(string) bool, limit int) (textSet, error) {
	if label == model.MetricNameLabel {
		return a.taggedMetrics(ctx, passes, limit)
	}
	values := textSet{}
	if !a.names.Uniform() { // the meaning of a stored value depends on its metric
		present := a.names.ConditionFilters([]translate.Condition{{Label: label, Match: func(v string) bool { return v != "" }}})
		err := a.eachOf(ctx, present, a.limits.Series, func(ls labels.Labels) { values.add(ls.Get(label)) })
		return values, err
	}
	err := a.eachKey(ctx, func(key, shown string) error {
		if shown != label {
			return nil
		}
		stored, err := a.store.TagValues(ctx, key, 0, math.MaxInt64)
		for _, v := range stored {
			values.add(a.names.LabelValue(v))
		}
		return err
	}, func(ls labels.Labels) { values.add(ls.Get(label)) })
	return values, err
}

// Metrics are asked about a few at first, and ever more at once up to most; one answer may be of so
// many series.
const (
	fewMetrics   = 100
	mostMetrics  = 10_000
	metricSeries = 10_000
)

// taggedMetrics returns the names of metrics of which some series is tagged. The store lists those
// of plain series too, perhaps a million.
func (a *tagIndex) taggedMetrics(ctx context.Context, passes func(string) bool, limit int) (textSet, error) {
	stored, err := a.store.Metrics(ctx, 0, math.MaxInt64)
	if err != nil {
		return nil, fmt.Errorf("list metrics: %w", err)
	}
	names := textSet{}
	for _, metric := range stored {
		names.add(a.names.FromMetric(metric))
	}
	found := textSet{}
	rest, few := names.list(passes), fewMetrics
	for len(rest) > 0 {
		n := min(few, len(rest))
		if err := a.addTagged(ctx, found, rest[:n]); err != nil {
			return nil, err
		}
		if limit > 0 && len(found) >= limit {
			return found, nil
		}
		rest, few = rest[n:], min(2*few, mostMetrics)
	}
	// A name that is too long for a metric is packed.
	err = a.eachKey(ctx, func(string, string) error { return nil }, func(ls labels.Labels) { found.add(ls.Get(model.MetricNameLabel)) })
	return found, err
}

// addTagged adds those of some metric names that have a tagged series. Names with more series than
// one answer may have are halved.
func (a *tagIndex) addTagged(ctx context.Context, found textSet, names []string) error {
	some := a.names.ConditionFilters([]translate.Condition{{Label: model.MetricNameLabel, Values: names}})
	err := a.eachOf(ctx, some, metricSeries, func(ls labels.Labels) { found.add(ls.Get(model.MetricNameLabel)) })
	switch {
	case !errors.Is(err, storage.ErrLimit):
		return err
	case len(names) == 1:
		found.add(names[0])
		return nil
	}
	half := len(names) / 2
	return errors.Join(a.addTagged(ctx, found, names[:half]), a.addTagged(ctx, found, names[half:]))
}

// countValues returns how many series have each value of a tag that passes: of all values, or of
// the first ones with a limit above 0.
func (a *tagIndex) countValues(ctx context.Context, tag string, passes func(string) bool, limit int) (counts textSet, known bool, err error) {
	label := tagspec.Label(tag)
	condition := translate.Condition{Label: label, Match: func(v string) bool { return v != "" }}
	if limit > 0 {
		values, err := a.allValues(ctx, label, passes, limit)
		if err != nil {
			return nil, false, err
		}
		condition.Values = first(values.list(passes), limit)
	}
	counts = textSet{}
	filters := a.names.ConditionFilters([]translate.Condition{condition})
	if err := a.eachOf(ctx, filters, a.limits.Series, func(ls labels.Labels) { counts.add(ls.Get(label)) }); err != nil {
		return nil, false, err
	}
	if known = len(counts) > 0; !known {
		tags, err := a.allTags(ctx)
		return counts, tags[tag] > 0, err
	}
	return counts, true, nil
}
