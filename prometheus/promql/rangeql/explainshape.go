package rangeql

import (
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// Shape returns an explanation in the shape of all languages.
func (x Explanation) Shape() (*query.Node, []*query.Read) {
	reads := []*query.Read{}
	for _, r := range x.Reads {
		read := &query.Read{
			Selector: columns.SelectorText(r.Matchers), Start: time.UnixMilli(r.Start).UTC(), End: time.UnixMilli(r.End).UTC(),
			Series: r.Series, Samples: r.Samples, Summaries: r.Summaries, Seconds: r.Took.Seconds(), Computing: r.Computing.Seconds(),
		}
		read.Count(r.Rows)
		reads = append(reads, read)
	}
	return x.Plan.shape(reads), reads
}

func (s *Step) shape(reads []*query.Read) *query.Node {
	if s == nil {
		return nil
	}
	out := &query.Node{
		ID: s.ID, Operator: s.Operator, Expression: s.Expression, Again: s.Again, NotDone: !s.Done,
		Series: s.Series, Samples: s.Samples, Seconds: s.Took.Seconds(), Reads: s.Reads,
	}
	if s.Shared > 1 {
		out.Shared = s.Shared
	}
	for _, r := range s.Reads {
		out.Bytes += reads[r].Bytes
	}
	for _, in := range s.Inputs {
		out.Inputs = append(out.Inputs, in.shape(reads))
	}
	return out
}
