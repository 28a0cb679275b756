package query

import (
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
)

// An Answer is what /api/query answers.
type Answer struct {
	Request *Request
	Groups  []Group
}

// A Group is one series of an answer.
type Group struct {
	Metric         string
	Tags           []storage.Tag // those with one value in all members that have the key
	AggregatedTags []string      // the keys with several values
	TSUIDs         []string
	Points         aggregate.Span

	query int // its index
}

// newGroup describes a group of members, of which there is at least one.
func newGroup(members []member, points aggregate.Span) Group {
	g := Group{Metric: members[0].Metric, Points: points, Tags: []storage.Tag{}, AggregatedTags: []string{}}
	values, differ := map[string]string{}, map[string]bool{}
	var keys []string
	for _, m := range members {
		g.TSUIDs = append(g.TSUIDs, fmt.Sprintf("%X", m.tsuid))
		for _, tag := range m.Tags {
			switch value, have := values[tag.Key]; {
			case !have:
				keys, values[tag.Key] = append(keys, tag.Key), tag.Value
			case value != tag.Value:
				differ[tag.Key] = true
			}
		}
	}
	for _, key := range keys {
		if differ[key] {
			g.AggregatedTags = append(g.AggregatedTags, key)
		} else {
			g.Tags = append(g.Tags, storage.Tag{Key: key, Value: values[key]})
		}
	}
	slices.Sort(g.TSUIDs)
	return g
}
