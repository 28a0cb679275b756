package columns

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// AnyOf returns selectors; if there are none, one of all series.
func AnyOf(match [][]*labels.Matcher) [][]*labels.Matcher {
	if len(match) > 0 {
		return match
	}
	return [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".*")}}
}

// AnyMatches reports whether labels match any of some selectors.
func AnyMatches(match [][]*labels.Matcher, ls labels.Labels) bool {
	for _, ms := range match {
		if matches(ms, ls) {
			return true
		}
	}
	return false
}

func matches(ms []*labels.Matcher, ls labels.Labels) bool {
	for _, m := range ms {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}
