package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A SeriesName is a metric with tags, each key once.
type SeriesName struct {
	Metric string
	Tags   []LookupTag
}

// mostNameTags bounds the tags of a SeriesName.
const mostNameTags = 1000

// ParseSeriesName reads metric{key=value,…} as OpenTSDB's Tags.parseWithMetric does, with its words.
func ParseSeriesName(m string) (SeriesName, error) {
	metric, inner, braces := strings.Cut(m, "{")
	s := SeriesName{Metric: metric}
	switch {
	case !braces:
		return s, nil
	case !strings.HasSuffix(inner, "}"):
		return s, fmt.Errorf("Missing '}' at the end of: %s", m)
	case inner == "}":
		return s, nil
	}
	for tag := range strings.SplitSeq(strings.TrimSuffix(inner, "}"), ",") {
		if err := s.add(tag); err != nil {
			return s, fmt.Errorf("When parsing tag '%s': %w", tag, err)
		}
		if len(s.Tags) > mostNameTags {
			return s, errors.New("Too many tags")
		}
	}
	return s, nil
}

func (s *SeriesName) add(tag string) error {
	key, value, ok := strings.Cut(tag, "=")
	if !ok || key == "" || value == "" || strings.Contains(value, "=") {
		return fmt.Errorf("invalid tag: %s", tag)
	}
	i := slices.IndexFunc(s.Tags, func(t LookupTag) bool { return t.Key == key })
	switch {
	case i < 0:
		s.Tags = append(s.Tags, LookupTag{Key: key, Value: value})
	case s.Tags[i].Value != value:
		var held []string
		for _, t := range s.Tags {
			held = append(held, t.Key+"="+t.Value)
		}
		return fmt.Errorf("duplicate tag: %s, tags={%s}", tag, strings.Join(held, ", "))
	}
	return nil
}
