package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// key returns all that the answer to a sub query depends on, in addition to its request.
func (q *SubQuery) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q %q %q %v %v %v %v %v", q.Aggregator, q.Metric, q.TSUIDs, q.Downsample, q.RollupUsage,
		q.Rate, q.ExplicitTags, q.PreAggregate, q.Percentiles, q.ShowBuckets)
	if q.RateOptions != nil {
		fmt.Fprintf(&b, " %+v", *q.RateOptions)
	}
	for _, f := range q.Filters {
		fmt.Fprintf(&b, " %q %q %q %v %v", f.TagKey, f.Type, f.Text, f.GroupBy, f.folds)
	}
	return b.String()
}

// eachOnce calls answer for each sub query that no other one before it is equal to, and passes the series of the
// others on under their own numbers.
func (r *Request) eachOnce(ctx context.Context, answer func(index int) ([]Series, error)) ([][]Series, error) {
	all, first := make([][]Series, len(r.Queries)), map[string]int{}
	for i := range r.Queries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q := &r.Queries[i]
		key := q.key() // before the answer is in it
		of, again := first[key]
		if !again {
			series, err := answer(i)
			if err != nil {
				return nil, err
			}
			all[i], first[key] = series, i
			continue
		}
		q.readFrom, q.keyUIDs, q.meant = r.Queries[of].readFrom, r.Queries[of].keyUIDs, r.Queries[of].meant
		all[i] = slices.Clone(all[of])
		for n := range all[i] {
			all[i][n].query = i
		}
	}
	return all, nil
}
