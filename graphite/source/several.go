package source

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/graphite/tagspec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A path of several series is drawn as several targets: path;key=value;..., with the tags that the
// path does not show, by key, as carbon spells tagged names. A function that counts elements sees
// those of the path. A function that asks for tags sees these tags, and the path as the tag name.
// Series that this does not tell apart get all their tags, and then their metrics too. The series
// of a tree that sums are one target series, the path.

// metricTag is the key of a metric that a path does not show.
const metricTag = "metric"

// A sharer is one of several series of a path.
type sharer struct {
	refs    []storage.Ref // several if writers spell one series in several ways
	labels  labels.Labels
	display tree.Display
}

// targetsOf makes targets of nodes and the refs of their series, which are 0 where there is none.
func (s *Source) targetsOf(ctx context.Context, nodes []forest.Node, refs []storage.Ref) ([]*targetSeries, error) {
	names, err := s.namesOf(ctx, nodes)
	if err != nil {
		return nil, err
	}
	targets := make([]*targetSeries, 0, len(nodes))
	for _, n := range nodes {
		own := refs[:len(n.Series)]
		refs = refs[len(n.Series):]
		if len(own) == 1 && own[0] != 0 {
			targets = append(targets, s.targetSeries(n.Path, nil, own[:1:1]))
		} else if len(own) > 1 {
			targets = append(targets, s.share(n, own, names)...)
		}
	}
	return targets, nil
}

// namesOf names the series of the nodes that have several, by TSUID.
func (s *Source) namesOf(ctx context.Context, nodes []forest.Node) (map[string]storage.Series, error) {
	var tsuids [][]byte
	for _, n := range nodes {
		if len(n.Series) > 1 {
			tsuids = append(tsuids, n.Series...)
		}
	}
	if len(tsuids) == 0 {
		return nil, nil
	}
	named, err := s.o.Catalog.NameAll(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	names := make(map[string]storage.Series, len(named))
	for _, one := range named {
		names[string(one.TSUID)] = one.Series
	}
	return names, nil
}

// share makes the targets of a node of several series. Those that are not there, or have no names,
// are left out.
func (s *Source) share(n forest.Node, refs []storage.Ref, names map[string]storage.Series) []*targetSeries {
	apart := map[string]*sharer{}
	var sum []storage.Ref
	for i, ref := range refs {
		series, ok := names[string(n.Series[i])]
		if ref == 0 || !ok {
			continue
		}
		var display tree.Display
		if i < len(n.Trees) {
			display, _ = s.o.Trees.Display(n.Trees[i])
		}
		if display.Sum {
			sum = append(sum, ref)
			continue
		}
		ls := s.o.Names.ToLabels(series)
		id := ls.String()
		if apart[id] == nil {
			apart[id] = &sharer{labels: ls, display: display}
		}
		apart[id].refs = append(apart[id].refs, ref)
	}
	targets := s.sharersTargets(n.Path, apart)
	if len(sum) > 0 {
		slices.Sort(sum)
		summed := s.targetSeries(n.Path, nil, sum)
		summed.sum = true
		targets = append(targets, summed)
	}
	return targets
}

// sharersTargets makes a target series of each series. A single one has the path alone as its name.
func (s *Source) sharersTargets(path string, apart map[string]*sharer) []*targetSeries {
	left := slices.Sorted(maps.Keys(apart))
	if len(left) == 1 {
		return []*targetSeries{s.targetSeries(path, nil, apart[left[0]].refs)}
	}
	var targets []*targetSeries
	for detail := rest; len(left) > 0; detail++ {
		tags, names := make([]shownTags, len(left)), make([]string, len(left))
		count := map[string]int{}
		for i, id := range left {
			tags[i] = s.tagsFor(apart[id], detail)
			names[i] = tags[i].spell(path)
			count[names[i]]++
		}
		var duplicates []string
		for i, id := range left {
			if count[names[i]] > 1 && detail < withMetric {
				duplicates = append(duplicates, id)
				continue
			}
			targets = append(targets, s.targetSeries(names[i], tags[i].of(path), apart[id].refs))
		}
		left = duplicates
	}
	return targets
}

// How much of a series is shown in addition to its path.
const (
	rest       = iota // what the path does not show
	allTags           // what it shows too
	withMetric        // and the metric
)

// tagsFor returns the tags to show of a series.
func (s *Source) tagsFor(one *sharer, detail int) shownTags {
	tags := shownTags{}
	one.labels.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel && (detail >= allTags || !one.display.Tags[s.o.Names.TagKey(l.Name)]) {
			tags[tagspec.Tag(l.Name)] = l.Value
		}
	})
	if detail == withMetric || !one.display.Metric {
		if _, taken := tags[metricTag]; !taken {
			tags[metricTag] = one.labels.Get(model.MetricNameLabel)
		}
	}
	return tags
}

// shownTags are tags that are shown after a path.
type shownTags map[string]string

// spell writes them after a path. A semicolon in them, which carbon's tags cannot have, is %3B.
func (t shownTags) spell(path string) string {
	var b strings.Builder
	b.WriteString(path)
	for _, key := range slices.Sorted(maps.Keys(t)) {
		b.WriteByte(';')
		b.WriteString(strings.ReplaceAll(key+"="+t[key], ";", "%3B"))
	}
	return b.String()
}

// of returns all tags of a target series: these, and the path as its name.
func (t shownTags) of(path string) map[string]string {
	all := maps.Clone(map[string]string(t))
	all[tagspec.Name] = path
	return all
}
