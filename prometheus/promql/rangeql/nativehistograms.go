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
	found := o.nativesIn(e, in, all)
	if o.fraction {
		for _, n := range found {
			if err := o.native(b, n, e.withoutName(n.labels), func(h *histogram.FloatHistogram, step int) (float64, annotations.Annotations) {
				return promql.HistogramFraction(args[0][step], args[1][step], h, e.shownName(n.labels), o.position)
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
			if err := o.native(b, n, o.labelsOf(e, n.labels, text), func(h *histogram.FloatHistogram, step int) (float64, annotations.Annotations) {
				return promql.HistogramQuantile(qs[step], h, e.shownName(n.labels), o.position)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// nativesIn returns the series that have native histograms, with those that count.
func (o *buckets) nativesIn(e *evaluation, in *block, all []*classic) []*series {
	var byLabels map[string]*classic
	var found []*series
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
		counting := *s
		counting.hists = o.alone(e, s, byLabels[string(s.labels.Bytes(nil))])
		found = append(found, &counting)
	}
	return found
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
		o.notes.warn(annotations.NewMixedClassicNativeHistogramsWarning(e.shownName(s.labels), o.position))
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

// native appends the results of a function of the histograms of a series.
func (o *buckets) native(b *block, s *series, ls labels.Labels, f func(h *histogram.FloatHistogram, step int) (float64, annotations.Annotations)) error {
	values, err := b.memory.take(len(s.hists))
	if err != nil {
		return err
	}
	for i, h := range s.hists {
		if values[i] = absent; h != nil {
			v, told := f(h, s.from+i)
			values[i] = v
			o.notes.merge(told)
		}
	}
	row := series{labels: ls, dropName: true, from: s.from, values: values}
	row.trim()
	b.series = append(b.series, row)
	return nil
}
