package operator

import (
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// Join makes one series of those that have the same labels. If they overlap, it returns the
// library's error, or ErrHandOver where the library may find that out later or not at all.
func (e *Evaluation) Join(b *block.Block) error {
	if e.Delayed && !b.IsRange() {
		return e.JoinOr(b, columns.ErrEqual)
	}
	return e.JoinOr(b, ErrSameLabels)
}

// JoinOr is join with the error for series that overlap.
func (e *Evaluation) JoinOr(b *block.Block, refused error) error {
	rows := make(map[uint64]int, len(b.Series))
	joined := b.Series[:0]
	for i := range b.Series {
		s := &b.Series[i]
		hash := s.Labels.Hash()
		row, ok := rows[hash]
		if !ok {
			rows[hash] = len(joined)
			joined = append(joined, *s)
			continue
		}
		into := &joined[row]
		switch {
		case !block.Overlap(into, s):
		case into.Hists != nil || s.Hists != nil: // A number and a histogram may be no duplicates.
			return columns.ErrEqual
		default:
			return refused
		}
		whole, err := joinTwo(b, into, s)
		if err != nil {
			return err
		}
		*into = whole
	}
	b.Series = joined
	return nil
}

func joinTwo(b *block.Block, x, y *block.Series) (block.Series, error) {
	from, to := min(x.From, y.From), max(x.To(), y.To())
	values, err := b.Memory.Take(to - from)
	if err != nil {
		return block.Series{}, err
	}
	block.Fill(values, block.Absent)
	whole := block.Series{Labels: x.Labels, DropName: x.DropName, From: from, Values: values}
	if x.Hists != nil || y.Hists != nil {
		whole.Hists = make([]*histogram.FloatHistogram, len(values))
	}
	for _, s := range []*block.Series{x, y} {
		for i, v := range s.Values {
			if !block.IsAbsent(v) {
				values[s.From-from+i] = v
			}
		}
		for i, h := range s.Hists {
			if h != nil {
				whole.Hists[s.From-from+i] = h
			}
		}
	}
	if y.First() < x.First() {
		whole.DropName = y.DropName // The first value in time decides.
	}
	return whole, nil
}
