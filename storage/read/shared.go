package read

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// dropOlder takes those samples out of what the head has of a series, after the n points of the
// table, that others have written over in a shared table since they were acknowledged here. Rows
// are read once more for instants that have two values, and for no others.
func (w *partReader) dropOlder(ctx context.Context, p *storage.Points, h *head.Points, n int) error {
	twice := disputed(p, h, n)
	if len(twice) == 0 {
		return nil
	}
	lost := make(map[int64]bool)
	for i := 0; i < len(twice); {
		base := schema.Base(twice[i])
		j := i + 1
		for j < len(twice) && schema.Base(twice[j]) == base {
			j++
		}
		older, err := w.olderInHead(ctx, index.IDOf(p.Ref), base, twice[i:j])
		if err != nil {
			return err
		}
		for _, t := range older {
			lost[t] = true
		}
		i = j
	}
	if len(lost) == 0 {
		return nil
	}
	at := n
	for i := n; i < len(h.Times); i++ {
		if !lost[h.Times[i]] {
			h.Times[at], h.Values[at] = h.Times[i], h.Values[i]
			at++
		}
	}
	h.Times, h.Values = h.Times[:at], h.Values[:at]
	h.Integers = slices.DeleteFunc(h.Integers, func(i head.Integer) bool { return lost[i.Time] })
	h.Objects = slices.DeleteFunc(h.Objects, func(o head.Object) bool { return lost[o.Time] && o.Kind != storage.KindExemplar })
	return nil
}

// disputed lists, ascending, the instants at which the table and the head have different samples.
func disputed(p *storage.Points, h *head.Points, n int) []int64 {
	table, values := p.Times[:n], p.Values[:n]
	var twice []int64
	at := 0
	for i := n; i < len(h.Times); i++ {
		t := h.Times[i]
		for at < n && table[at] < t {
			at++
		}
		switch {
		case at < n && table[at] == t:
			if math.Float64bits(values[at]) != math.Float64bits(h.Values[i]) {
				twice = append(twice, t)
			}
		case len(p.Objects) > 0 && (instants{objects: p.Objects}).sample(t):
			twice = append(twice, t)
		}
	}
	held := instants{table, values, p.Objects}
	for _, o := range h.Objects {
		if o.Kind.IsSample() && held.sample(o.Time) {
			twice = append(twice, o.Time)
		}
	}
	slices.Sort(twice)
	return slices.Compact(twice)
}

// olderInHead returns those instants of a row whose sample in the table was acknowledged after that
// in the head.
func (s *Reader) olderInHead(ctx context.Context, id index.ID, base uint32, times []int64) ([]int64, error) {
	key := s.o.Layout.AppendRowKey(nil, []byte(s.o.Index.TSUID(id)), base)
	past, err := s.o.DB.Versioned.History(ctx, s.o.Table, schema.FamilyData, [][]byte{key})
	if err != nil {
		return nil, fmt.Errorf("read a row with instants that were written here and elsewhere: %w", err)
	}
	var r row.Reconciler
	r.Look(&past[0])
	here := s.o.Ages(head.Row{ID: uint32(id), Base: base})
	var older []int64
	for _, t := range times {
		mine, ok := row.AgeAt(here, schema.Offset(t))
		if there, found := r.Newest(schema.Offset(t)); ok && found && there > mine {
			older = append(older, t)
		}
	}
	return older, nil
}
