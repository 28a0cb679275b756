package query

import (
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/backtrack"
	"github.com/tsdbridge/tsdbridge/storage"
)

// conditions are those that a TSD makes of the filters of a sub query, with its peculiarities: of the tag
// key with the smallest UID it unites the values of all literal_or filters, where others would expect the
// values that all of them have. Of any other key the last filter replaces the literal_or filters before it,
// also if it is none itself. Filters of other types all hold. uids are those of the tag keys. keys are the tag
// keys that explicitTags allows; without filters it allows any.
//
// It is TsdbQuery.findGroupBys of OpenTSDB 2.4.1, which goes on comparing with the first key after it has
// passed it.
func (q *SubQuery) conditions(uids map[string]string, steps *backtrack.Steps) (conditions []storage.Filter, keys map[string]bool) {
	filters := slices.Clone(q.Filters)
	slices.SortStableFunc(filters, func(a, b Filter) int { return cmp.Compare(uids[a.TagKey], uids[b.TagKey]) })
	first := 0 // filters of the first key
	for first < len(filters) && filters[first].TagKey == filters[0].TagKey {
		first++
	}
	rows := map[string][]string{} // values of the keys that rows must have; nil: any
	read := make([]bool, len(filters))
	count := 0
	unite := func(from, to int) {
		var literals []string
		for _, f := range filters[from:to] {
			if f.resolves() {
				literals = append(literals, f.literals()...)
			}
		}
		slices.Sort(literals)
		literals = slices.Compact(literals)
		if len(literals)+count > maxResolved {
			return // they are compared with each series
		}
		for i := from; i < to; i++ {
			read[i] = filters[i].resolves()
		}
		count += len(literals)
		rows[filters[to-1].TagKey] = literals
	}
	if first > 0 {
		unite(0, first)
	}
	for i := first; i < len(filters); i++ {
		unite(i, i+1)
	}
	keys = map[string]bool{}
	for key, values := range rows {
		keys[key] = true
		conditions = append(conditions, storage.Filter{Keys: []string{key}, Values: values})
	}
	for i, f := range filters {
		if !read[i] {
			conditions = append(conditions, storage.Filter{Keys: []string{f.TagKey}, Match: f.matcher(steps)})
		}
	}
	return conditions, keys
}

// resolves reports whether a TSD looks up the values of a filter and finds rows by their UIDs.
func (f Filter) resolves() bool { return f.Type == "literal_or" && len(f.literals()) <= maxResolved }
