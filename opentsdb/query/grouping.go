package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A grouping is which series belong together, and in which order groups are answered: in that of
// the UIDs of their tag values.
type grouping struct {
	members []member
	of      []int // the group of each member
	groups  int
}

// newGrouping groups series: each alone for the aggregator none, all together unless filters group.
func (e *finder) newGrouping(ctx context.Context, q *SubQuery, members []member) (*grouping, error) {
	g := &grouping{members: members, of: make([]int, len(members)), groups: 1}
	if q.Aggregator == aggregate.None {
		for i := range g.of {
			g.of[i] = i
		}
		g.groups = len(members)
		return g, nil
	}
	keys := q.groupKeys()
	if len(keys) == 0 {
		return g, nil
	}
	uids, err := e.names.Lookup(ctx, storage.TagKeyName, keys)
	if err != nil {
		return nil, err
	}
	slices.Sort(uids)
	g.byValues(e.layout, slices.Compact(uids))
	return g, nil
}

// groupKeys returns the tag keys that filters group by. A query for TSUIDs groups by none.
func (q *SubQuery) groupKeys() (keys []string) {
	for _, f := range q.Filters {
		if f.GroupBy && len(q.TSUIDs) == 0 {
			keys = append(keys, f.TagKey)
		}
	}
	return keys
}

// byValues groups by the UIDs that members have as values of tag keys.
func (g *grouping) byValues(l schema.Layout, keys []string) {
	values := make([]string, len(g.members))
	var b strings.Builder
	for i, m := range g.members {
		b.Reset()
		for _, key := range keys {
			b.WriteString(valueUID(l, m.tsuid, key))
		}
		values[i] = b.String()
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	g.groups = 0
	for n, i := range order {
		if n == 0 || values[i] != values[order[n-1]] {
			g.groups++
		}
		g.of[i] = g.groups - 1
	}
}

// valueUID returns the UID that a TSUID has for the value of a tag key; "" if it lacks the key.
func valueUID(l schema.Layout, tsuid []byte, key string) string {
	for tags := tsuid[l.MetricWidth:]; len(tags) >= l.PairWidth(); tags = tags[l.PairWidth():] {
		if string(tags[:l.TagkWidth]) == key {
			return string(tags[l.TagkWidth:l.PairWidth()])
		}
	}
	return ""
}
