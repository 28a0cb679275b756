package read

import (
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// planKind is a way to read rows.
type planKind uint8

const (
	planRows planKind = iota // row by row, by key
	// likewise where the wanted rows are near to each other, on an engine that makes use of it.
	planNear
	planRange // a range of the metric
	// a range in which the engine leaps from one wanted series to the next.
	planFuzzy
	// a range in which the engine looks for the tags that the wanted series share.
	planRegexp
	planKinds
)

// String names the kind as the metrics and the API do.
func (k planKind) String() string {
	return [planKinds]string{"rows", "near", "range", "fuzzy", "regexp"}[k]
}

// scans reports whether the rows come by a scan, hour by hour of the whole metric.
func (k planKind) scans() bool { return k >= planRange }

// plan is how the series of one metric, in one salt bucket, are read.
type plan struct {
	kind   planKind
	series int
	tags   []kv.Tag           // of planRegexp
	have   float64            // rows of the metric and bucket in the range, estimated
	near   bool               // the wanted rows are near to each other
	costs  [planKinds]float64 // microseconds, 0 where there is no such way
}

const (
	// maxRowHours is how many rows of a series are read by their keys. Of more keys most would not
	// exist.
	maxRowHours = 1024
	// maxSharedValues bounds the values in the condition of planRegexp: what a regexp over row keys
	// costs was measured with few.
	maxSharedValues = 64
	// fewestNear is how many rows must be near to each other for a cluster to make use of it.
	fewestNear = 64
	// leapAfter is how many rows the local engine goes by before it seeks, when it looks for the
	// next row that is wanted.
	leapAfter = 16
)

// hours is how many rows a series has in the range at most.
func (r *selection) hours() int { return int((r.last-r.first)/schema.RowSeconds) + 1 }

// pastHours is how many of these have begun: rows of the future are rare.
func (r *selection) pastHours() int {
	now := r.o.Now().UnixMilli()
	if now < r.q.Start {
		return 1
	}
	return int((min(r.last, schema.Base(min(now, storage.MaxTime)))-r.first)/schema.RowSeconds) + 1
}

// appendPlans plans for members in the order of the table.
func (r *selection) appendPlans(plans []plan, members []member) []plan {
	width := r.o.Layout.MetricWidth
	for len(members) > 0 {
		bucket, metric := members[0].bucket, members[0].tsuid[:width]
		n := 1
		for n < len(members) && members[n].bucket == bucket && members[n].tsuid[:width] == metric {
			n++
		}
		plans = append(plans, r.plan(metric, members[:n]))
		members = members[n:]
	}
	return plans
}

// nearMetrics returns the metrics of which members, in the order of plans, have rows that are near to each
// other.
func nearMetrics(plans []plan, members []member, metricWidth int) map[string]bool {
	near := map[string]bool{}
	for _, p := range plans {
		if p.near {
			near[members[0].tsuid[:metricWidth]] = true
		}
		members = members[p.series:]
	}
	return near
}

// plan chooses the cheapest way to read some series of a metric in a bucket.
func (r *selection) plan(metric string, members []member) plan {
	s := r.Reader
	p := plan{series: len(members)}
	p.have = float64(s.o.Index.MetricSeries(metric)) / float64(s.o.Layout.Buckets()) * float64(r.pastHours())
	if p.have < float64(p.series*r.pastHours()) {
		p.have = float64(p.series * r.pastHours()) // buckets are not filled evenly
	}
	costs := s.costs.now()
	// The tags of many series take long to collect, and a filter that passes most rows is in vain.
	others := p.have - float64(p.series*r.pastHours())
	if s.o.DB.Local == nil && costs.Tag > 0 && p.series > costs.Leaps && others*costs.Suffix > p.have*costs.Tag {
		p.tags = s.sharedTags(members)
	}
	p.near = p.series*r.hours() >= fewestNear && others <= float64(costs.NearRows*p.series*r.pastHours())
	if r.near != nil {
		p.near = r.near[metric]
	}
	p.estimate(&costs, r.hours(), r.pastHours(), s.o.DB.Local != nil)
	p.choose()
	return p
}

// expected is how many rows the engine is expected to read.
func (p *plan) expected(hours int) int64 {
	if p.kind.scans() {
		return int64(p.have)
	}
	return int64(p.series) * int64(hours)
}

// estimate sets the costs.
func (p *plan) estimate(c *kv.Costs, hours, past int, local bool) {
	asked, found := float64(p.series*hours), float64(p.series*past)
	others := p.have - found
	if hours <= maxRowHours {
		p.costs[planRows] = asked * c.Get
	}
	if local {
		// Between two rows that are wanted the engine goes by some others, and seeks when there are
		// too many.
		gap := min(others/found*c.Suffix, leapAfter*c.Suffix+c.Get)
		kind, begin := planRange, c.Scan
		if hours <= maxRowHours {
			kind, begin = planNear, float64(hours)*c.Get
		}
		p.costs[kind] = begin + found*(c.Row+gap)
		return
	}
	if hours <= maxRowHours && p.near {
		p.costs[planNear] = asked * c.Near
	}
	p.costs[planRange] = c.Scan + found*c.Row + others*c.Suffix
	if p.series <= c.Leaps {
		p.costs[planFuzzy] = c.Scan + found*c.Leap
	}
	if len(p.tags) > 0 {
		p.costs[planRegexp] = c.Scan + p.have*c.Tag + found*c.Row
	}
}

func (p *plan) choose() {
	for kind, cost := range p.costs {
		if cost > 0 && (p.costs[p.kind] == 0 || cost < p.costs[p.kind]) {
			p.kind = planKind(kind)
		}
	}
}

// sharedTags are the conditions that all of the series pass: the keys that all have, with the
// values they have.
func (s *Reader) sharedTags(members []member) []kv.Tag {
	values := map[string]map[string]struct{}{}
	seen := map[string]int{}
	for _, m := range members {
		for key, value := range s.o.Layout.Pairs([]byte(m.tsuid[s.o.Layout.MetricWidth:])) {
			seen[string(key)]++
			if values[string(key)] == nil {
				values[string(key)] = map[string]struct{}{}
			}
			values[string(key)][string(value)] = struct{}{}
		}
	}
	var tags []kv.Tag
	room := maxSharedValues
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if set := values[key]; seen[key] == len(members) && len(set) <= room {
			room -= len(set)
			tag := kv.Tag{Key: []byte(key)}
			for _, value := range slices.Sorted(maps.Keys(set)) {
				tag.Values = append(tag.Values, []byte(value))
			}
			tags = append(tags, tag)
		}
	}
	return tags
}
