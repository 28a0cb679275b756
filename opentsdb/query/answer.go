package query

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An Answer is what /api/query answers.
type Answer struct {
	Request *Request
	Groups  []Group
	// Globals are the global annotations; nil: they are not shown.
	Globals []storage.Annotation
}

// A Group is one series of an answer.
type Group struct {
	Metric         string
	Tags           []storage.Tag // those with one value in all members that have the key
	AggregatedTags []string      // the keys with several values
	TSUIDs         []string
	Points         aggregate.Span
	// Annotations are those of the series; nil: there are none in the hours that were read.
	Annotations []storage.Annotation

	query int // its index
}

// Index returns the number of the sub query that a group answers.
func (g *Group) Index() int { return g.query }

// newGroup describes a group of members, of which there is at least one.
func newGroup(members []member, points aggregate.Span) Group {
	g := Group{Metric: members[0].Metric, Points: points, Tags: []storage.Tag{}, AggregatedTags: []string{}}
	g.TSUIDs = make([]string, len(members))
	var tags commonTags
	for i, m := range members {
		g.TSUIDs[i] = schema.FormatTSUID(m.tsuid)
		tags.add(m.Tags)
	}
	for i, tag := range tags.tags {
		if tags.differ[i] {
			g.AggregatedTags = append(g.AggregatedTags, tag.Key)
		} else {
			g.Tags = append(g.Tags, tag)
		}
	}
	slices.Sort(g.TSUIDs)
	return g
}

// commonTags are the tag keys of members in the order in which they were met, with the first value of each, and
// whether there are others.
type commonTags struct {
	tags   []storage.Tag
	differ []bool
}

// add adds the tags of a member. Most have the keys of the member before, in their order.
func (c *commonTags) add(tags []storage.Tag) {
	for n, tag := range tags {
		at := n
		if at >= len(c.tags) || c.tags[at].Key != tag.Key {
			at = slices.IndexFunc(c.tags, func(t storage.Tag) bool { return t.Key == tag.Key })
		}
		switch {
		case at < 0:
			c.tags, c.differ = append(c.tags, tag), append(c.differ, false)
		case !c.differ[at]:
			c.differ[at] = c.tags[at].Value != tag.Value
		}
	}
}
