package instantfn

import (
	"slices"

	"github.com/facette/natsort"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Sorting is sort, sort_desc, sort_by_label or sort_by_label_desc. It orders instant vectors; an
// answer with several steps is ordered by labels in the end.
type Sorting struct {
	Input      *operator.Node
	Grid       block.Grid
	Descending bool
	ByLabels   []string // nil: by value
	Position   posrange.PositionRange
	*annotation.Notes
}

// Inputs implements operator.Operator.
func (o Sorting) Inputs() []*operator.Node { return []*operator.Node{o.Input} }

// Eval implements operator.Operator.
func (o Sorting) Eval(e *operator.Evaluation) (*block.Block, error) {
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	if o.Grid.IsRange() {
		o.Warn(annotations.NewSortInRangeQueryWarning(o.Position))
	}
	b := e.NewBlock(o.Grid)
	b.Series = make([]block.Series, 0, len(in.Series))
	b.Borrow(in)
	for _, s := range in.Series {
		if o.ByLabels == nil && s.Hists != nil {
			s.Hists = nil // Values are sorted.
			s.Trim()
		}
		if len(s.Values) > 0 {
			b.Series = append(b.Series, s)
		}
	}
	if !o.Grid.IsRange() {
		o.sort(b)
	}
	return b, e.Seal(b)
}

func (o Sorting) sort(b *block.Block) {
	if o.ByLabels != nil {
		slices.SortFunc(b.Series, func(x, y block.Series) int {
			order := compareByLabels(x.Labels, y.Labels, o.ByLabels)
			if o.Descending {
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
	if o.Descending {
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
