package expression

import (
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// queries returns a sub query for each metric.
func (r *Request) queries() (*query.Request, error) {
	q := &query.Request{Start: string(r.Time.Start), End: string(orEmpty(r.Time.End)), Timezone: string(orEmpty(r.Time.Timezone))}
	for _, m := range r.Metrics {
		sub := query.SubQuery{Metric: string(m.Metric), Aggregator: string(r.Time.Aggregator), Rate: r.Time.Rate}
		if m.Aggregator != nil {
			sub.Aggregator = string(*m.Aggregator)
		}
		if d := r.Time.Downsampler; d != nil {
			sub.Downsample = string(d.Interval + "-" + d.Aggregator)
		}
		if f := r.filter(orEmpty(m.Filter)); f != nil {
			if f.Tags == nil || slices.Contains(f.Tags, nil) {
				return nil, fmt.Errorf("Missing tags of filter %s", f.ID)
			}
			for _, tag := range f.Tags {
				sub.Filters = append(sub.Filters, tag.Filter)
			}
			sub.ExplicitTags = f.ExplicitTags
		}
		q.Queries = append(q.Queries, sub)
	}
	return q, nil
}

func orEmpty(t *query.Text) query.Text {
	if t == nil {
		return ""
	}
	return *t
}
