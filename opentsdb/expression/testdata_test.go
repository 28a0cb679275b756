package expression

import (
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// seriesOf returns a series of a metric with tags key=value; a key alone is an aggregated tag. UIDs are the
// names. Values are at 1s, 2s, …; NaN is none.
func seriesOf(metric, tags string, values ...float64) query.Series {
	s := query.Series{Group: query.Group{Metric: metric, Tags: []storage.Tag{}, AggregatedTags: []string{}}, MetricID: id(metric)}
	for tag := range strings.FieldsSeq(tags) {
		key, value, ok := strings.Cut(tag, "=")
		if !ok {
			s.Aggregated, s.AggregatedTags = append(s.Aggregated, id(key)), append(s.AggregatedTags, key)
			continue
		}
		s.Pairs, s.Tags = append(s.Pairs, query.TagPair{Key: id(key), Value: id(value)}), append(s.Tags, storage.Tag{Key: key, Value: value})
	}
	for i, v := range values {
		if v == v {
			s.Points.Add(int64(i+1)*1000, v)
		}
	}
	return s
}

func id(name string) query.ID { return query.ID{UID: name, Name: name} }

var none = math.NaN()

// unlimited are means without a limit.
func unlimited() Means {
	return Means{Pause: func() error { return nil }, Take: func(int64) error { return nil }}
}

// longs returns a span of integers at 1s, 2s, ….
func longs(values ...int64) (s aggregate.Span) {
	for i, v := range values {
		s.AddLong(int64(i+1)*1000, v)
	}
	return s
}
