package query

import (
	"context"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// traced reads the series of a sub query, and notes in the trace what was read.
func (r *reading) traced(ctx context.Context, read func(context.Context) error) error {
	trace, query := query.TraceOf(ctx), query.From(ctx)
	before := query.Samples()
	ctx, one := trace.Reading(ctx, r.query.String(), r.plan.Range.ScanStart, r.last)
	err := read(ctx)
	trace.Uses(one.End(len(r.of.members), query.Samples()-before))
	return err
}

// describedBytes is about how many bytes of the filters of a sub query are shown.
const describedBytes = 500

// String describes a sub query about as its m= does.
func (q *SubQuery) String() string {
	var b strings.Builder
	b.WriteString(q.Aggregator + ":")
	if q.Downsample != "" {
		b.WriteString(q.Downsample + ":")
	}
	if q.Rate {
		b.WriteString("rate:")
	}
	b.WriteString(q.Metric)
	if len(q.TSUIDs) > 0 {
		b.WriteString(q.TSUIDs[0])
		if len(q.TSUIDs) > 1 {
			b.WriteString(",…")
		}
	}
	for i, f := range q.Filters {
		if b.Len() > describedBytes {
			b.WriteString(",…")
			break
		}
		b.WriteString([]string{"{", ","}[min(i, 1)])
		b.WriteString(f.TagKey + "=" + f.Type + "(" + f.Text[:min(len(f.Text), describedBytes)] + ")")
	}
	if len(q.Filters) > 0 {
		b.WriteString("}")
	}
	return b.String()
}
