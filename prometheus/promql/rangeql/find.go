package rangeql

import (
	"context"

	"github.com/tsdbridge/tsdbridge/internal/turns"
)

// find finds the series of a selector, of each of which about so many points will be read and
// evaluated. A large query that has to wait for others does not hold the series: it finds them again
// when its turn has come.
func (e *evaluation) find(ctx context.Context, s Selector, points int64) (Columns, error) {
	held := e.account.Held()
	columns, err := e.source.Columns(ctx, s)
	turn := turns.From(ctx)
	if err != nil || !turn.Expect(turns.Work(columns.Len(), points)) {
		return columns, err
	}
	columns = nil
	e.account.Give(e.account.Held() - held)
	if err := turn.Yield(ctx); err != nil {
		return columns, err
	}
	return e.source.Columns(ctx, s)
}

// points is about how many points of each series are read and evaluated. How many samples a series
// has is not known: one in a minute.
func (r *read) points() int64 {
	points := minutes(r.selector)
	for _, l := range r.leaves {
		points += int64(l.grid.steps)
	}
	return points
}

func minutes(s Selector) int64 {
	if s.Newest {
		return 1
	}
	return (s.End - s.Start) / 60_000
}
