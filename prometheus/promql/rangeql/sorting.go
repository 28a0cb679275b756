package rangeql

import (
	"github.com/facette/natsort"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
	"slices"
)

// sorting is sort, sort_desc, sort_by_label or sort_by_label_desc. It orders instant vectors; an
// answer with several steps is ordered by labels in the end.
type sorting struct {
	input      *node
	grid       grid
	descending bool
	byLabels   []string // nil: by value
	position   posrange.PositionRange
	notes      *notes
}

func (o sorting) noted() []*notes { return []*notes{o.notes} }

func (o sorting) inputs() []*node { return []*node{o.input} }

func (sorting) name() string { return "sort" }

func (o sorting) eval(e *evaluation) (*block, error) {
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	if o.grid.isRange() {
		o.notes.warn(annotations.NewSortInRangeQueryWarning(o.position))
	}
	b := e.newBlock(o.grid)
	b.series = make([]series, 0, len(in.series))
	b.borrow(in)
	for _, s := range in.series {
		if o.byLabels == nil && s.hists != nil {
			s.hists = nil // Values are sorted.
			s.trim()
		}
		if len(s.values) > 0 {
			b.series = append(b.series, s)
		}
	}
	if !o.grid.isRange() {
		o.sort(b)
	}
	return b, e.seal(b)
}

func (o sorting) sort(b *block) {
	if o.byLabels != nil {
		slices.SortFunc(b.series, func(x, y series) int {
			order := compareByLabels(x.labels, y.labels, o.byLabels)
			if o.descending {
				return -order
			}
			return order
		})
		return
	}
	// The library sorts NaN to the end with a reversed sort.
	values := make(heap, len(b.series))
	for i := range b.series {
		values[i] = entry{b.series[i].values[0], int32(i)}
	}
	less := descending
	if o.descending {
		less = ascending
	}
	values.sortReverse(less)
	sorted := make([]series, len(values))
	for i, v := range values {
		sorted[i] = b.series[v.series]
	}
	b.series = sorted
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
