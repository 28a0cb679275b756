// Package histograms has the operator of histogram_quantile, histogram_quantiles and histogram_fraction, of
// classic and native histograms.
package histograms

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Buckets is histogram_quantile, histogram_quantiles or histogram_fraction of classic histograms.
// Which buckets belong together is found out once for all steps.
type Buckets struct {
	Input    *operator.Node
	Grid     block.Grid
	Position posrange.PositionRange // of the vector
	Args     []*operator.Node       // quantiles, or both ends of a fraction
	At       []posrange.PositionRange
	Fraction bool
	Label    string // of the quantiles; empty: there is one, and no label

	annotation.Notes
}

// classic is the buckets of one histogram, by their upper bounds.
type classic struct {
	labels  labels.Labels
	bounds  []float64
	members []*block.Series
	hidden  []bool // steps that have a native histogram as well; nil: none
}

// Inputs implements operator.Operator.
func (o *Buckets) Inputs() []*operator.Node { return append([]*operator.Node{o.Input}, o.Args...) }

// Eval implements operator.Operator.
func (o *Buckets) Eval(e *operator.Evaluation) (*block.Block, error) {
	args, release, err := e.Arguments(o.Args)
	if err != nil {
		return nil, err
	}
	defer release()
	if !o.Fraction {
		o.checkQuantiles(args)
	}
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	all := o.histograms(e, in)
	b := e.NewBlock(o.Grid)
	if err := o.natives(e, b, in, all, args); err != nil {
		return b, err
	}
	natives := len(b.Series)
	if o.Fraction {
		err = o.rows(e, b, all, []string{""}, func(step, _ int, list []promql.Bucket, _ *classic) float64 {
			return promql.BucketFraction(args[0][step], args[1][step], list)
		})
	} else {
		err = o.quantiles(e, b, all, args)
	}
	if err != nil {
		return b, err
	}
	if !o.Fraction {
		b.Series = byQuantile(b.Series, natives, len(args))
	}
	if err := e.Seal(b); err != nil {
		return b, err
	}
	return b, e.Join(b)
}

// histograms returns the histograms in the order in which they appear.
func (o *Buckets) histograms(e *operator.Evaluation, in *block.Block) []*classic {
	byLabels := map[string]*classic{}
	var all []*classic
	var key []byte
	for i := range in.Series {
		s := &in.Series[i]
		if s.Hists != nil && block.CountPresent(s.Values) == 0 {
			continue
		}
		le := s.Labels.Get(model.BucketLabel)
		bound, err := strconv.ParseFloat(le, 64)
		if err != nil {
			o.Warn(annotations.NewBadBucketLabelWarning(e.ShownName(s.Labels), le, o.Position))
			continue
		}
		key = s.Labels.BytesWithoutLabels(key, model.BucketLabel)
		h, ok := byLabels[string(key)]
		if !ok {
			ls := labels.NewBuilder(s.Labels).Del(model.BucketLabel).Labels()
			h = &classic{labels: ls}
			byLabels[string(key)] = h
			all = append(all, h)
		}
		h.bounds, h.members = append(h.bounds, bound), append(h.members, s)
	}
	for _, h := range all {
		h.sort()
	}
	return all
}

func (h *classic) sort() {
	if slices.IsSorted(h.bounds) {
		return
	}
	order := make([]int, len(h.bounds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h.bounds[a], h.bounds[b]) })
	bounds, members := make([]float64, len(order)), make([]*block.Series, len(order))
	for i, from := range order {
		bounds[i], members[i] = h.bounds[from], h.members[from]
	}
	h.bounds, h.members = bounds, members
}

func (o *Buckets) quantiles(e *operator.Evaluation, b *block.Block, all []*classic, args [][]float64) error {
	var texts []string
	for _, qs := range args {
		text, err := o.text(qs)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	return o.rows(e, b, all, texts, func(step, k int, list []promql.Bucket, h *classic) float64 {
		v, forced, _, least, most, difference := promql.BucketQuantile(args[k][step], list)
		if forced {
			o.Repair(e.ShownName(h.labels), o.Grid.Time(step), annotation.Repair{Least: least, Most: most, Difference: difference, Samples: 1})
		}
		return v
	})
}

// text returns the value of the label of a quantile, empty without a label.
func (o *Buckets) text(qs []float64) (string, error) {
	if o.Label == "" {
		return "", nil
	}
	for _, q := range qs {
		if q != qs[0] && !(math.IsNaN(q) && math.IsNaN(qs[0])) {
			return "", columns.ErrLabel
		}
	}
	return labels.FormatOpenMetricsFloat(qs[0]), nil
}

// labelsOf returns the labels of a result.
func (o *Buckets) labelsOf(e *operator.Evaluation, ls labels.Labels, quantile string) labels.Labels {
	ls = e.WithoutName(ls)
	if o.Label == "" {
		return ls
	}
	return labels.NewBuilder(ls).Set(o.Label, quantile).Labels()
}

// byQuantile brings series, of which the first are those of native histograms, and which are ordered by
// quantiles apart from that, into the library's order: of each quantile those of native histograms first.
func byQuantile(all []block.Series, natives, quantiles int) []block.Series {
	if quantiles == 1 || natives == 0 {
		return all
	}
	ordered := make([]block.Series, 0, len(all))
	native, classic := all[:natives], all[natives:]
	n, c := len(native)/quantiles, len(classic)/quantiles
	for k := range quantiles {
		ordered = append(append(ordered, native[k*n:(k+1)*n]...), classic[k*c:(k+1)*c]...)
	}
	return ordered
}

// rows appends one series for each of the quantiles and each histogram, with the result of a function of the
// buckets of a step. Like the library's, the function may change the buckets before it is called for the next
// quantile.
func (o *Buckets) rows(e *operator.Evaluation, b *block.Block, all []*classic, quantiles []string, f func(step, k int, list []promql.Bucket, h *classic) float64) error {
	offset, n := len(b.Series), len(quantiles)
	b.Series = append(b.Series, make([]block.Series, n*len(all))...)
	inputs := 0
	for _, h := range all {
		inputs += len(h.members)
	}
	return e.InParallel(b, len(all), inputs*o.Grid.Steps, func(l *operator.Lane, i int) error {
		h, rows := all[i], make([]*block.Series, n)
		for k := range rows {
			values, err := l.Memory.Take(o.Grid.Steps)
			if err != nil {
				return err
			}
			rows[k] = &b.Series[offset+k*len(all)+i]
			*rows[k] = block.Series{Labels: o.labelsOf(e, h.labels, quantiles[k]), DropName: true, Values: values}
		}
		for step := range o.Grid.Steps {
			l.Buckets = h.at(step, l.Buckets[:0])
			for k := range rows {
				rows[k].Values[step] = block.Absent
				if len(l.Buckets) > 0 {
					rows[k].Values[step] = f(step, k, l.Buckets, h)
				}
			}
		}
		for k := range rows {
			rows[k].Trim()
		}
		return nil
	})
}

// at appends the buckets of a step.
func (h *classic) at(step int, list []promql.Bucket) []promql.Bucket {
	if h.hidden != nil && h.hidden[step] {
		return list
	}
	for k, m := range h.members {
		if v, ok := m.At(step); ok {
			list = append(list, promql.Bucket{UpperBound: h.bounds[k], Count: v})
		}
	}
	return list
}

// checkQuantiles warns about quantiles outside of 0 to 1, step by step.
func (o *Buckets) checkQuantiles(args [][]float64) {
	for step := range o.Grid.Steps {
		for i, values := range args {
			if q := values[step]; floats.IsNoQuantile(q) && (len(args) > 1 || step == 0 || q != values[step-1]) {
				o.Warn(annotations.NewInvalidQuantileWarning(q, o.At[i]))
			}
		}
	}
}
