package aggregate

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// CountValues is the aggregation count_values: a series for each group and value.
type CountValues struct {
	Input *operator.Node
	Grid  block.Grid
	Label string
	*Grouping
}

// Inputs implements operator.Operator.
func (o *CountValues) Inputs() []*operator.Node { return []*operator.Node{o.Input} }

// Eval implements operator.Operator.
func (o *CountValues) Eval(e *operator.Evaluation) (*block.Block, error) {
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	b := e.NewBlock(o.Grid)
	builder := labels.NewBuilder(labels.EmptyLabels())
	for i := range in.Series {
		s := &in.Series[i]
		var counts []float64 // of the value before
		last := block.Absent
		for k, v := range s.Values {
			if block.IsAbsent(v) {
				continue
			}
			if counts == nil || math.Float64bits(v) != math.Float64bits(last) { // -0 is not 0 here
				if counts, err = o.counts(b, builder, s.Labels, v); err != nil {
					return b, err
				}
				last = v
			}
			count(counts, s.From+k)
		}
		for k, h := range s.Hists {
			if h == nil {
				continue
			}
			if counts, err = o.countsOf(b, builder, s.Labels, h.String()); err != nil {
				return b, err
			}
			count(counts, s.From+k)
		}
		if err := e.Ended(); err != nil {
			return b, err
		}
	}
	for i := range b.Series {
		b.Series[i].Trim()
	}
	if err := e.Seal(b); err != nil {
		return b, err
	}
	return b, e.Join(b)
}

func count(counts []float64, step int) {
	if block.IsAbsent(counts[step]) {
		counts[step] = 0
	}
	counts[step]++
}

// counts returns the counts of a value in a series' group.
func (o *CountValues) counts(b *block.Block, builder *labels.Builder, ls labels.Labels, v float64) ([]float64, error) {
	return o.countsOf(b, builder, ls, strconv.FormatFloat(v, 'f', -1, 64))
}

func (o *CountValues) countsOf(b *block.Block, builder *labels.Builder, ls labels.Labels, v string) ([]float64, error) {
	builder.Reset(ls)
	builder.Set(o.Label, v)
	ls = builder.Labels()
	number, isNew := o.of(ls, false)
	if isNew {
		values, err := b.Memory.Take(o.Grid.Steps)
		if err != nil {
			return nil, err
		}
		if err := b.Memory.TakeSeries(1); err != nil {
			return nil, err
		}
		block.Fill(values, block.Absent)
		b.Series = append(b.Series, block.Series{Labels: o.labelsOf(ls, false), Values: values})
	}
	return b.Series[number].Values, nil
}
