package rangeql

import (
	"slices"

	"github.com/facette/natsort"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// sorting is sort, sort_desc, sort_by_label or sort_by_label_desc. It orders instant vectors; an
// answer with several steps is ordered by labels in the end.
type sorting struct {
	input      *node
	grid       block.Grid
	descending bool
	byLabels   []string // nil: by value
	position   posrange.PositionRange
	notes      *annotation.Notes
}

func (o sorting) noted() []*annotation.Notes { return []*annotation.Notes{o.notes} }

func (o sorting) inputs() []*node { return []*node{o.input} }

func (sorting) name() string { return "sort" }

func (o sorting) eval(e *evaluation) (*block.Block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	if o.grid.IsRange() {
		o.notes.Warn(annotations.NewSortInRangeQueryWarning(o.position))
	}
	b := e.newBlock(o.grid)
	b.Series = make([]block.Series, 0, len(in.Series))
	b.Borrow(in)
	for _, s := range in.Series {
		if o.byLabels == nil && s.Hists != nil {
			s.Hists = nil // Values are sorted.
			s.Trim()
		}
		if len(s.Values) > 0 {
			b.Series = append(b.Series, s)
		}
	}
	if !o.grid.IsRange() {
		o.sort(b)
	}
	return b, e.seal(b)
}

func (o sorting) sort(b *block.Block) {
	if o.byLabels != nil {
		slices.SortFunc(b.Series, func(x, y block.Series) int {
			order := compareByLabels(x.Labels, y.Labels, o.byLabels)
			if o.descending {
				return -order
			}
			return order
		})
		return
	}
	// The library sorts NaN to the end with a reversed sort.
	values := make(floats.Heap, len(b.Series))
	for i := range b.Series {
		values[i] = floats.Entry{Value: b.Series[i].Values[0], Series: int32(i)}
	}
	less := floats.Descending
	if o.descending {
		less = floats.Ascending
	}
	values.SortReverse(less)
	sorted := make([]block.Series, len(values))
	for i, v := range values {
		sorted[i] = b.Series[v.Series]
	}
	b.Series = sorted
}

func compareByLabels(x, y labels.Labels, names []string) int {
	for _, name := range names {
		switch a, b := x.Get(name), y.Get(name); {
		case a == b:
		case natsort.Compare(a, b):
			return -1
		default:
			return 1
		}
	}
	return labels.Compare(x, y)
}
