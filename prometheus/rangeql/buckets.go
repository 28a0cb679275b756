package rangeql

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
)

// buckets is histogram_quantile, histogram_quantiles or histogram_fraction of classic histograms.
// Which buckets belong together is found out once for all steps.
type buckets struct {
	input    *node
	grid     grid
	position posrange.PositionRange // of the vector
	args     []*node                // quantiles, or both ends of a fraction
	at       []posrange.PositionRange
	fraction bool
	label    string // of the quantiles; empty: there is one, and no label
}

// classic is the buckets of one histogram, by their upper bounds.
type classic struct {
	labels  labels.Labels
	bounds  []float64
	members []*series
	hidden  []bool // steps that have a native histogram as well; nil: none
}

func (o *buckets) inputs() []*node { return append([]*node{o.input}, o.args...) }

func (o *buckets) eval(e *evaluation) (*block, error) {
	args, release, err := e.arguments(o.args)
	if err != nil {
		return nil, err
	}
	defer release()
	if !o.fraction {
		for i, values := range args {
			e.checkQuantiles(values, o.at[i])
		}
	}
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	all := o.histograms(e, in)
	b := e.newBlock(o.grid)
	if err := o.natives(e, b, in, all, args); err != nil {
		return b, err
	}
	if o.fraction {
		err = o.rows(e, b, all, "", func(step int, list []promql.Bucket, _ *classic) float64 {
			return promql.BucketFraction(args[0][step], args[1][step], list)
		})
	} else {
		err = o.quantiles(e, b, all, args)
	}
	if err != nil {
		return b, err
	}
	if err := e.seal(b); err != nil {
		return b, err
	}
	return b, e.join(b)
}

// histograms returns the histograms in the order in which they appear.
func (o *buckets) histograms(e *evaluation, in *block) []*classic {
	byLabels := map[string]*classic{}
	var all []*classic
	var key []byte
	for i := range in.series {
		s := &in.series[i]
		if s.hists != nil && countPresent(s.values) == 0 {
			continue
		}
		le := s.labels.Get(model.BucketLabel)
		bound, err := strconv.ParseFloat(le, 64)
		if err != nil {
			e.warn(annotations.NewBadBucketLabelWarning(e.shownName(s.labels), le, o.position))
			continue
		}
		key = s.labels.BytesWithoutLabels(key, model.BucketLabel)
		h, ok := byLabels[string(key)]
		if !ok {
			ls := labels.NewBuilder(s.labels).Del(model.BucketLabel).Labels()
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
	bounds, members := make([]float64, len(order)), make([]*series, len(order))
	for i, from := range order {
		bounds[i], members[i] = h.bounds[from], h.members[from]
	}
	h.bounds, h.members = bounds, members
}

func (o *buckets) quantiles(e *evaluation, b *block, all []*classic, args [][]float64) error {
	e.repairs.visit(o.position)
	for _, qs := range args {
		text, err := o.text(qs)
		if err != nil {
			return err
		}
		err = o.rows(e, b, all, text, func(step int, list []promql.Bucket, h *classic) float64 {
			v, forced, _, least, most, difference := promql.BucketQuantile(qs[step], list)
			if forced {
				name, at := e.shownName(h.labels), o.grid.time(step)
				e.warn(annotations.NewHistogramQuantileForcedMonotonicityInfo(name, o.position, at, least, most, difference))
				e.repairs.note(o.position, at, Repair{least, most, difference, 1}, name == "" && o.grid == e.steps)
			}
			return v
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// text returns the value of the label of a quantile, empty without a label.
func (o *buckets) text(qs []float64) (string, error) {
	if o.label == "" {
		return "", nil
	}
	for _, q := range qs {
		if q != qs[0] && !(math.IsNaN(q) && math.IsNaN(qs[0])) {
			return "", errLabel
		}
	}
	return labels.FormatOpenMetricsFloat(qs[0]), nil
}

// labelsOf returns the labels of a result.
func (o *buckets) labelsOf(e *evaluation, ls labels.Labels, quantile string) labels.Labels {
	ls = e.withoutName(ls)
	if o.label == "" {
		return ls
	}
	return labels.NewBuilder(ls).Set(o.label, quantile).Labels()
}

// rows appends one series for each histogram, with the result of a function of the buckets of a
// step.
func (o *buckets) rows(e *evaluation, b *block, all []*classic, quantile string, f func(step int, list []promql.Bucket, h *classic) float64) error {
	offset := len(b.series)
	b.series = append(b.series, make([]series, len(all))...)
	inputs := 0
	for _, h := range all {
		inputs += len(h.members)
	}
	return e.inParallel(b, len(all), inputs*o.grid.steps, func(l *lane, i int) error {
		h := all[i]
		values, err := l.memory.take(o.grid.steps)
		if err != nil {
			return err
		}
		for step := range values {
			l.buckets = l.buckets[:0]
			for k, m := range h.members {
				if h.hidden != nil && h.hidden[step] {
					break
				}
				if v, ok := m.at(step); ok {
					l.buckets = append(l.buckets, promql.Bucket{UpperBound: h.bounds[k], Count: v})
				}
			}
			values[step] = absent
			if len(l.buckets) > 0 {
				values[step] = f(step, l.buckets, h)
			}
		}
		b.series[offset+i] = series{labels: o.labelsOf(e, h.labels, quantile), dropName: true, values: values}
		b.series[offset+i].trim()
		return nil
	})
}
