package source

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// find returns what a fetch names, sorted by name.
func (s *Source) find(ctx context.Context, f eval.Fetch) ([]*targetSeries, error) {
	if f.Tags != nil {
		return s.byTags(ctx, f)
	}
	if targets, ok := s.found[f.Pattern]; ok {
		return targets, nil
	}
	targets, err := s.byName(ctx, f)
	if err == nil && len(targets) == 0 {
		targets, err = s.byPath(ctx, f.Pattern)
	}
	if path, _, tagged := strings.Cut(f.Pattern, ";"); err == nil && len(targets) == 0 && tagged {
		targets, err = s.byPath(ctx, path) // one of several series of a path, by its whole name
		targets = slices.DeleteFunc(targets, func(l *targetSeries) bool { return l.name != f.Pattern })
	}
	if err := query.AccountOf(ctx).Take(targetBytes + int64(len(f.Pattern))); err != nil {
		return nil, err
	}
	s.found[f.Pattern] = targets
	return targets, err
}

// Refs returns the stored series that a path pattern names, each once, in no order. A series of a tagged name
// may be left out that has no points from a time until another (seconds).
func (s *Source) Refs(ctx context.Context, pattern string, from, until int64) ([]storage.Ref, error) {
	targets, err := s.find(ctx, eval.Fetch{Pattern: pattern, From: from, Until: until, Now: until})
	if err != nil {
		return nil, err
	}
	if err := s.checkSeries(); err != nil {
		return nil, err
	}
	var refs []storage.Ref
	for _, l := range targets {
		refs = append(refs, l.refs...)
	}
	slices.Sort(refs)
	return slices.Compact(refs), nil
}

// FoundPage is how many series are looked at before others may have their turn.
const FoundPage = 1024

// FoundBytes is the memory of a series that was found: its tags, its labels, its name.
const FoundBytes = 1000

// targetBytes is the memory of a target series without its slots.
const targetBytes = 500

// byPath returns the leaves that a pattern matches in the trees.
func (s *Source) byPath(ctx context.Context, pattern string) ([]*targetSeries, error) {
	nodes, err := FindPaths(ctx, s.o.Trees, pattern, forest.FindOptions{Leaves: true, Limit: s.o.Limits.Nodes})
	if err != nil {
		return nil, err
	}
	var tsuids [][]byte
	for _, n := range nodes {
		tsuids = append(tsuids, n.Series...)
	}
	if err := query.AccountOf(ctx).Take(targetBytes * int64(len(tsuids))); err != nil {
		return nil, err
	}
	refs, err := s.o.Catalog.Refs(tsuids)
	if err != nil {
		s.o.Logger.Warn("leaves of trees without a series in the store are left out; run tsdbridge tree sync", "pattern", pattern, "err", err)
	}
	targets, err := s.targetsOf(ctx, nodes, refs)
	return sortTargets(targets), err
}

// FindPaths searches the trees. Carbon takes a slash in a name as a dot. So does graphite-web in a
// pattern, unless a name contains a slash.
func FindPaths(ctx context.Context, trees Trees, pattern string, options forest.FindOptions) ([]forest.Node, error) {
	nodes, err := trees.Find(ctx, pattern, options)
	if err == nil && len(nodes) == 0 && strings.Contains(pattern, "/") {
		return trees.Find(ctx, strings.ReplaceAll(pattern, "/", "."), options)
	}
	return nodes, err
}

// byName returns the series of a tagged name, which is spelled as the name of a series is; another
// order of the tags finds nothing. A name without tags, or whose tags do not parse, is a path.
func (s *Source) byName(ctx context.Context, f eval.Fetch) ([]*targetSeries, error) {
	ls := translate.PathLabels(f.Pattern)
	if ls.IsEmpty() || translate.IsPlain(ls) || translate.LabelsPath(ls) != f.Pattern {
		return nil, nil
	}
	conditions := []translate.Condition{{Label: model.MetricNameLabel, Values: []string{ls.Get(model.MetricNameLabel)}}}
	ls.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			conditions = append(conditions, translate.Condition{Label: l.Name, Values: []string{l.Value}})
		}
	})
	return s.tagged(ctx, f, s.o.Names.ConditionFilters(conditions), func(found labels.Labels) bool { return labels.Equal(found, ls) })
}

// byTags returns the series that satisfy seriesByTag's conditions.
func (s *Source) byTags(ctx context.Context, f eval.Fetch) ([]*targetSeries, error) {
	specs, err := tagspec.Parse(ctx, f.Tags)
	if err != nil {
		return nil, err
	}
	targets, err := s.tagged(ctx, f, specs.Filters(s.o.Names), specs.Match)
	if err != nil {
		return nil, err
	}
	return targets, specs.Err()
}

// tagged returns the series that are not plain, pass filters and match, under their canonical
// names.
func (s *Source) tagged(ctx context.Context, f eval.Fetch, filters []storage.Filter, match func(labels.Labels) bool) ([]*targetSeries, error) {
	start, end := millis(f.From, min(f.Until, f.Now))
	found, err := s.o.Store.Find(ctx, append(filters, tagspec.Tagged(s.o.Names)), start, end, s.o.Limits.Series)
	if err != nil {
		return nil, err
	}
	if err := query.AccountOf(ctx).Take((FoundBytes + targetBytes) * int64(len(found))); err != nil {
		return nil, err
	}
	byName := map[string][]storage.Ref{}
	sets := map[string]labels.Labels{}
	for i, series := range found {
		if i%FoundPage == 0 {
			if err := query.TurnOf(ctx).Yield(ctx); err != nil {
				return nil, err
			}
		}
		if s.o.Names.Plain(series.Series) {
			continue
		}
		if ls := s.o.Names.ToLabels(series.Series); match(ls) {
			name := translate.LabelsPath(ls)
			byName[name], sets[name] = append(byName[name], series.Ref), ls
		}
	}
	targets := make([]*targetSeries, 0, len(byName))
	for name, refs := range byName {
		slices.Sort(refs)
		targets = append(targets, s.targetSeries(name, tagsOf(sets[name]), refs))
	}
	return sortTargets(targets), nil
}

// tagsOf returns the labels of a series as Graphite's tags.
func tagsOf(ls labels.Labels) map[string]string {
	tags := make(map[string]string, ls.Len())
	ls.Range(func(l labels.Label) { tags[tagspec.Tag(l.Name)] = l.Value })
	return tags
}
