package histograms

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// natives appends the results of native histograms. A step that has classic buckets with the same
// labels as well has no result.
func (o *Buckets) natives(e *operator.Evaluation, b, in *block.Block, all []*classic, args [][]float64) error {
	found := o.nativesIn(e, in, all)
	if o.Fraction {
		for _, n := range found {
			if err := o.native(b, n, e.WithoutName(n.Labels), func(h *histogram.FloatHistogram, step int) (float64, annotations.Annotations) {
				return promql.HistogramFraction(args[0][step], args[1][step], h, e.ShownName(n.Labels), o.Position)
			}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, qs := range args {
		for _, n := range found {
			text, err := o.text(qs)
			if err != nil {
				return err
			}
			if err := o.native(b, n, o.labelsOf(e, n.Labels, text), func(h *histogram.FloatHistogram, step int) (float64, annotations.Annotations) {
				return promql.HistogramQuantile(qs[step], h, e.ShownName(n.Labels), o.Position)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// nativesIn returns the series that have native histograms, with those that count.
func (o *Buckets) nativesIn(e *operator.Evaluation, in *block.Block, all []*classic) []*block.Series {
	var byLabels map[string]*classic
	var found []*block.Series
	for i := range in.Series {
		s := &in.Series[i]
		if s.Hists == nil {
			continue
		}
		if byLabels == nil {
			byLabels = make(map[string]*classic, len(all))
			for _, h := range all {
				byLabels[string(h.labels.Bytes(nil))] = h
			}
		}
		counting := *s
		counting.Hists = o.alone(e, s, byLabels[string(s.Labels.Bytes(nil))])
		found = append(found, &counting)
	}
	return found
}

// alone returns the histograms of a series without those that have classic buckets at the same
// step, and hides these.
func (o *Buckets) alone(e *operator.Evaluation, s *block.Series, other *classic) []*histogram.FloatHistogram {
	if other == nil {
		return s.Hists
	}
	hists := make([]*histogram.FloatHistogram, len(s.Hists))
	for i, h := range s.Hists {
		if h == nil {
			continue
		}
		step := s.From + i
		if !other.has(step) {
			hists[i] = h
			continue
		}
		if other.hidden == nil {
			other.hidden = make([]bool, o.Grid.Steps)
		}
		other.hidden[step] = true
		o.Warn(annotations.NewMixedClassicNativeHistogramsWarning(e.ShownName(s.Labels), o.Position))
	}
	return hists
}

// has reports whether a histogram has buckets at a step.
func (h *classic) has(step int) bool {
	for _, m := range h.members {
		if _, ok := m.At(step); ok {
			return true
		}
	}
	return false
}

// native appends the results of a function of the histograms of a series.
func (o *Buckets) native(b *block.Block, s *block.Series, ls labels.Labels, f func(h *histogram.FloatHistogram, step int) (float64, annotations.Annotations)) error {
	values, err := b.Memory.Take(len(s.Hists))
	if err != nil {
		return err
	}
	for i, h := range s.Hists {
		if values[i] = block.Absent; h != nil {
			v, made := f(h, s.From+i)
			values[i] = v
			o.Merge(made)
		}
	}
	row := block.Series{Labels: ls, DropName: true, From: s.From, Values: values}
	row.Trim()
	b.Series = append(b.Series, row)
	return nil
}
