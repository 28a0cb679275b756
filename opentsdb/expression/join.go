package expression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// A subject is what the values of a series are of.
type subject struct {
	metrics    []query.ID
	tags       []query.TagPair // in the order of the keys
	aggregated []query.ID      // in order
}

// add joins another subject to this one. As with a TSD the tags of the first one stay.
func (s *subject) add(other subject) {
	s.metrics = merged(s.metrics, other.metrics)
	s.aggregated = merged(s.aggregated, other.aggregated)
}

// merged returns the IDs of two lists in the order of their UIDs, each once.
func merged(a, b []query.ID) []query.ID {
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(a, b query.ID) int { return cmp.Compare(a.UID, b.UID) })
	return slices.CompactFunc(out, func(a, b query.ID) bool { return a.UID == b.UID })
}

// key returns what must be equal of two subjects that are joined. queryKeys are the tags that the
// query of the series names.
func (j Join) key(s subject, queryKeys map[string]bool) string {
	if len(s.tags) == 0 {
		return ""
	}
	var b strings.Builder
	for _, tag := range s.tags {
		if !j.UseQueryTags || queryKeys[tag.Key.Name] {
			b.WriteString(tag.Key.UID)
			b.WriteString(tag.Value.UID)
		}
	}
	if j.IncludeAggTags {
		for _, k := range s.aggregated {
			b.WriteString(k.UID)
		}
	}
	return b.String()
}

// A variable is what an expression computes with: the series of a metric or of another expression.
type variable struct {
	name      string
	subjects  []subject
	queryKeys map[string]bool
	source    source
}

// A joined series is a series of each variable; -1 if there is none.
type joined struct {
	subject subject
	of      []int
}

// absent is in a joined series the place of a series that a variable lacks.
const absent = -1

// join matches the series of variables, of which there is at least one. Results are in the order of
// their keys. Of series of one variable with the same key the last one counts. order is the places of the
// variables in the order in which they were added.
func (j Join) join(variables []variable, order []int) []joined {
	rows := map[string][]int{}
	order = reordered(variables, order, java.DefaultCapacity, len(variables))
	for n, place := range order {
		mine := map[string]int{}
		for i, s := range variables[place].subjects {
			key := j.key(s, variables[place].queryKeys)
			mine[key] = i
			if rows[key] == nil && (j.Operator == union || n == 0) {
				rows[key] = slices.Repeat([]int{absent}, len(variables))
			}
			if rows[key] == nil {
				variables[place].source.drop(i)
				continue
			}
			rows[key][place] = i
		}
		if j.Operator == intersection {
			dropOthers(rows, mine, variables)
		}
	}
	order = reordered(variables, order, len(variables))
	out := make([]joined, 0, len(rows))
	for _, key := range sortedKeys(rows) {
		out = append(out, joined{subjectOf(variables, order, rows[key]), rows[key]})
	}
	return out
}

// dropOthers removes the series that a variable lacks.
func dropOthers(rows map[string][]int, mine map[string]int, variables []variable) {
	for key, row := range rows {
		if _, ok := mine[key]; ok {
			continue
		}
		for place, i := range row {
			if i != absent {
				variables[place].source.drop(i)
			}
		}
		delete(rows, key)
	}
}

// reordered returns places in the order of the variables' names in hash maps that are filled one from the
// other.
func reordered(variables []variable, order []int, capacities ...int) []int {
	at, names := map[string]int{}, make([]string, len(order))
	for n, place := range order {
		names[n], at[variables[place].name] = variables[place].name, place
	}
	for _, capacity := range capacities {
		names = java.InMapOrder(names, capacity)
	}
	out := make([]int, len(names))
	for n, name := range names {
		out[n] = at[name]
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// subjectOf describes a joined series. Its tags are those of the first variable, if that has the series.
func subjectOf(variables []variable, order, row []int) (s subject) {
	for n, place := range order {
		if row[place] == absent {
			continue
		}
		other := variables[place].subjects[row[place]]
		if n == 0 {
			s.tags = other.tags
		}
		s.add(other)
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
