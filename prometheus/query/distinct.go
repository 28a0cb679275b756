package query

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// distinctParser returns equal selectors of a request as one: each is looked up, and what it finds is
// kept until the answer is made.
type distinctParser struct{ parser.Parser }

// ParseMetricSelectors implements parser.Parser.
func (d distinctParser) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	all, err := d.Parser.ParseMetricSelectors(texts)
	return distinct(all), err
}

// distinct returns selectors without those that are equal to one before them, in whatever order their
// matchers stand.
func distinct(all [][]*labels.Matcher) [][]*labels.Matcher {
	if len(all) < 2 {
		return all
	}
	seen := make(map[string]struct{}, len(all))
	return slices.DeleteFunc(all, func(matchers []*labels.Matcher) bool {
		text := selectorText(matchers)
		_, again := seen[text]
		seen[text] = struct{}{}
		return again
	})
}

// selectorText is equal for equal selectors alone.
func selectorText(matchers []*labels.Matcher) string {
	texts := make([]string, 0, len(matchers))
	for _, m := range matchers {
		texts = append(texts, m.String())
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}
