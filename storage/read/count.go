package read

import (
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// seenRows is what one read has seen of the table.
type seenRows struct{ query.Counts }

func (s *seenRows) add(cells []kv.StoredCell) {
	s.Rows++
	s.Cells += int64(len(cells))
	for i := range cells {
		c := &cells[i]
		s.Bytes += int64(len(c.Coded) + len(c.Qualifier) + len(c.Value))
	}
}

// chose counts a plan.
func (r *selection) chose(kind planKind) {
	r.metrics.plans[kind].Inc()
	r.tally.Add(wayOf(kind), query.Counts{Plans: 1})
}

// count counts a read that asked for so many rows, or went over them.
func (r *selection) count(kind planKind, asked int64, seen seenRows) {
	seen.Asked = asked
	r.tally.Add(wayOf(kind), seen.Counts)
}

func wayOf(kind planKind) query.Way {
	return [planKinds]query.Way{query.Rows, query.Near, query.Range, query.Fuzzy, query.Regexp}[kind]
}

// countHead counts what was taken of the head: a row for each series of which it had points.
func (r *selection) countHead(taken []head.Taken, bytes int) {
	rows := int64(0)
	for _, t := range taken {
		if !t.Empty() {
			rows++
		}
	}
	if rows > 0 {
		r.tally.Add(query.Head, query.Counts{Asked: rows, Rows: rows, Cells: rows, Bytes: int64(bytes)})
	}
}
