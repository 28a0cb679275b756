package schema

import (
	"encoding/binary"
	"slices"
)

// A MetricRange is the rows of one metric in one salt bucket whose base times are within bounds.
// They are neighbours, since the base time follows the metric in the key.
type MetricRange struct {
	From, To []byte // row keys, To excluded
	Next     []byte // the first key that may belong to another metric or bucket; nil: there is none
}

// RowsBefore returns the range that a data row key is of, with the rows of base times below base
// (seconds). It is false for a key that is too short to have a base time; then Next is the key
// after it.
func (l Layout) RowsBefore(key []byte, base uint32) (MetricRange, bool) {
	return l.RowsBetween(key, 0, base)
}

// RowsBetween is RowsBefore without the rows of base times below from.
func (l Layout) RowsBetween(key []byte, from, to uint32) (MetricRange, bool) {
	if len(key) < l.PrefixWidth() {
		return MetricRange{Next: append(slices.Clip(key), 0)}, false
	}
	n := l.SaltWidth + l.MetricWidth
	prefix := key[:n:n]
	return MetricRange{
		From: binary.BigEndian.AppendUint32(prefix, from),
		To:   binary.BigEndian.AppendUint32(prefix, to),
		Next: Successor(prefix),
	}, true
}

// Successor returns the first key after all that begin with a prefix, nil if there is none.
func Successor(prefix []byte) []byte {
	for n := len(prefix); n > 0; n-- {
		if prefix[n-1] < 0xff {
			next := append([]byte(nil), prefix[:n]...)
			next[n-1]++
			return next
		}
	}
	return nil
}
