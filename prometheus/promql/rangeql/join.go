package rangeql

import "github.com/prometheus/prometheus/model/histogram"

// join makes one series of those that have the same labels. If they overlap, it returns the
// library's error, or ErrHandOver where the library may find that out later or not at all.
func (e *evaluation) join(b *block) error {
	if e.delayed && !b.isRange() {
		return e.joinOr(b, errEqual)
	}
	return e.joinOr(b, errSameLabels)
}

// joinOr is join with the error for series that overlap.
func (e *evaluation) joinOr(b *block, refused error) error {
	rows := make(map[uint64]int, len(b.series))
	joined := b.series[:0]
	for i := range b.series {
		s := &b.series[i]
		hash := s.labels.Hash()
		row, ok := rows[hash]
		if !ok {
			rows[hash] = len(joined)
			joined = append(joined, *s)
			continue
		}
		into := &joined[row]
		switch {
		case !overlap(into, s):
		case into.hists != nil || s.hists != nil: // A number and a histogram may be no duplicates.
			return errEqual
		default:
			return refused
		}
		whole, err := joinTwo(b, into, s)
		if err != nil {
			return err
		}
		*into = whole
	}
	b.series = joined
	return nil
}

func joinTwo(b *block, x, y *series) (series, error) {
	from, to := min(x.from, y.from), max(x.to(), y.to())
	values, err := b.memory.take(to - from)
	if err != nil {
		return series{}, err
	}
	fill(values, absent)
	whole := series{labels: x.labels, dropName: x.dropName, from: from, values: values}
	if x.hists != nil || y.hists != nil {
		whole.hists = make([]*histogram.FloatHistogram, len(values))
	}
	for _, s := range []*series{x, y} {
		for i, v := range s.values {
			if !isAbsent(v) {
				values[s.from-from+i] = v
			}
		}
		for i, h := range s.hists {
			if h != nil {
				whole.hists[s.from-from+i] = h
			}
		}
	}
	if y.first() < x.first() {
		whole.dropName = y.dropName // The first value in time decides.
	}
	return whole, nil
}
