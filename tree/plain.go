package tree

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// DefaultRule returns the one rule of a default tree.
func DefaultRule(id uint16) schema.TreeRule {
	return schema.TreeRule{TreeID: int(id), Type: ruleMetric, Separator: `\.`, Description: "the elements of the metric"}
}

// HasDefaultRule reports whether rules are those of a default tree: the one of defaultRule.
func HasDefaultRule(rules []schema.TreeRule) bool {
	if len(rules) != 1 {
		return false
	}
	r := rules[0]
	return r.Type == ruleMetric && r.Separator == `\.` && r.Regex == "" && r.DisplayFormat == ""
}

// PlainRoute returns the way to a metric under its own name. A name of nothing but dots is its own
// leaf.
func PlainRoute(metric string) Route {
	elements := elementsOf(metric)
	switch len(elements) {
	case 0:
		return Route{Outcome: OnRoot, Leaf: metric}
	case 1:
		return Route{Outcome: OnRoot, Leaf: elements[0]}
	}
	last := len(elements) - 1
	return shallow(Route{Outcome: Stored, Branches: elements[:last], Leaf: elements[last]})
}

// elementsOf cuts a metric at its dots and leaves out what is empty.
func elementsOf(metric string) []string {
	elements := make([]string, 0, strings.Count(metric, ".")+1)
	for metric != "" {
		var element string
		if element, metric, _ = strings.Cut(metric, "."); element != "" {
			elements = append(elements, element)
		}
	}
	return elements
}

// MaxBranches is the greatest depth of a leaf. A branch's row contains its whole path, so that
// rows grow with the square of the depth: a carbon line with 8000 dots would write half a gigabyte.
const MaxBranches = 64

// shallow turns a path that is too deep into a leaf with dots in its name. Find treats each element
// of it as if it were a branch.
func shallow(r Route) Route {
	if len(r.Branches) > MaxBranches {
		r.Leaf = strings.Join(append(r.Branches[MaxBranches:len(r.Branches):len(r.Branches)], r.Leaf), ".")
		r.Branches = r.Branches[:MaxBranches]
	}
	return r
}
