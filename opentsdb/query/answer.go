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
	Points         aggregate.Span
	// Annotations are those of the series; nil: there are none in the hours that were read.
	Annotations []storage.Annotation

	query int      // its index
	found []member // all that the sub query found
	of    []int32  // places of the members of the group
}

// Index returns the number of the sub query that a group answers.
func (g *Group) Index() int { return g.query }

// newGroup describes a group of members of those that were found, of which there is at least one. As a TSD it
// needs the names of the values that all members have alone.
func newGroup(found []member, of []int32, points aggregate.Span) (Group, error) {
	g := Group{Metric: found[of[0]].Metric, Points: points, Tags: []storage.Tag{}, AggregatedTags: []string{}, found: found, of: of}
	var tags commonTags
	for _, at := range of {
		tags.add(found[at].Tags)
	}
	for i, tag := range tags.tags {
		if tags.differ[i] {
			g.AggregatedTags = append(g.AggregatedTags, tag.Key)
		} else {
			g.Tags = append(g.Tags, tag)
		}
	}
	return g, storage.LostName(&storage.Series{Metric: g.Metric, Tags: g.Tags})
}

// TSUIDs returns those of the members, in ascending order.
func (g *Group) TSUIDs() []string {
	tsuids := make([]string, len(g.of))
	for i, at := range g.of {
		tsuids[i] = schema.FormatTSUID(g.found[at].tsuid)
	}
	slices.Sort(tsuids)
	return tsuids
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
