package rangeql

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
)

// natives appends the results of native histograms. A step that has classic buckets with the same
// labels as well has no result.
func (o *buckets) natives(e *evaluation, b, in *block, all []*classic, args [][]float64) error {
	var byLabels map[string]*classic
	for i := range in.series {
		s := &in.series[i]
		if s.hists == nil {
			continue
		}
		if byLabels == nil {
			byLabels = make(map[string]*classic, len(all))
			for _, h := range all {
				byLabels[string(h.labels.Bytes(nil))] = h
			}
		}
		hists := o.alone(e, s, byLabels[string(s.labels.Bytes(nil))])
		name := e.shownName(s.labels)
		if o.fraction {
			if err := o.native(b, s, e.withoutName(s.labels), hists, func(h *histogram.FloatHistogram, step int) float64 {
				v, notes := promql.HistogramFraction(args[0][step], args[1][step], h, name, o.position)
				e.merge(notes)
				return v
			}); err != nil {
				return err
			}
			continue
		}
		for _, qs := range args {
			text, err := o.text(qs)
			if err != nil {
				return err
			}
			if err := o.native(b, s, o.labelsOf(e, s.labels, text), hists, func(h *histogram.FloatHistogram, step int) float64 {
				v, notes := promql.HistogramQuantile(qs[step], h, name, o.position)
				e.merge(notes)
				return v
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone returns the histograms of a series without those that have classic buckets at the same
// step, and hides these.
func (o *buckets) alone(e *evaluation, s *series, other *classic) []*histogram.FloatHistogram {
	if other == nil {
		return s.hists
	}
	hists := make([]*histogram.FloatHistogram, len(s.hists))
	for i, h := range s.hists {
		if h == nil {
			continue
		}
		step := s.from + i
		if !other.has(step) {
			hists[i] = h
			continue
		}
		if other.hidden == nil {
			other.hidden = make([]bool, o.grid.steps)
		}
		other.hidden[step] = true
		e.warn(annotations.NewMixedClassicNativeHistogramsWarning(e.shownName(s.labels), o.position))
	}
	return hists
}

// has reports whether a histogram has buckets at a step.
func (h *classic) has(step int) bool {
	for _, m := range h.members {
		if _, ok := m.at(step); ok {
			return true
		}
	}
	return false
}

func (o *buckets) native(b *block, s *series, ls labels.Labels, hists []*histogram.FloatHistogram, f func(h *histogram.FloatHistogram, step int) float64) error {
	values, err := b.memory.take(len(hists))
	if err != nil {
		return err
	}
	for i, h := range hists {
		if values[i] = absent; h != nil {
			values[i] = f(h, s.from+i)
		}
	}
	row := series{labels: ls, dropName: true, from: s.from, values: values}
	row.trim()
	b.series = append(b.series, row)
	return nil
}
