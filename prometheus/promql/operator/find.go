package operator

import (
	"context"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// Find finds the series of a selector, of each of which about so many points will be read and
// evaluated. A large query that has to wait for others does not hold the series: it finds them again
// when its turn has come.
func (e *Evaluation) Find(ctx context.Context, s columns.Selector, points int64) (columns.Set, error) {
	held := e.Account.Held()
	set, err := e.Source.Columns(ctx, s)
	turn := query.TurnOf(ctx)
	if err != nil || !turn.Expect(query.Work(set.Len(), points)) {
		return set, err
	}
	set = nil
	e.Account.Give(e.Account.Held() - held)
	if err := turn.Yield(ctx); err != nil {
		return set, err
	}
	return e.Source.Columns(ctx, s)
}

// points is about how many points of each series are read and evaluated. How many samples a series
// has is not known: one in a minute.
func (r *Read) points() int64 {
	points := Minutes(r.Selector)
	for _, l := range r.Leaves {
		points += int64(l.Grid.Steps)
	}
	return points
}

// Minutes is about how many samples of each series a selector reads.
func Minutes(s columns.Selector) int64 {
	if s.Newest {
		return 1
	}
	return (s.End - s.Start) / 60_000
}
