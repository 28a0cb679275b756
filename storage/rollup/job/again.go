package job

import (
	"context"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// passes notes that intervals up to a time are about to be filled (milliseconds): points before it are late
// from now on, whatever the clock says.
func (l *Late) passes(to int64) {
	if to > l.filled.Load() {
		l.filled.Store(to)
	}
}

// fillLate fills intervals anew whose points have changed.
func (f *Filler) fillLate(ctx context.Context) error {
	var l look
	if f.o.shared() {
		var err error
		if l, err = f.findLate(ctx); err != nil {
			return err
		}
	}
	taken := f.late.take()
	f.metrics.lateHours.Add(float64(len(taken.hours)))
	for _, t := range f.state.Tasks {
		if err := f.again(ctx, t, &taken.notes); err != nil {
			f.late.restore(taken)
			return err
		}
	}
	f.state.Looked, f.state.Deep = l.at, l.deep
	f.publish() // before notes of what is too old are forgotten
	return f.late.done(ctx, taken)
}

// again fills the intervals of a task that notes are about.
func (f *Filler) again(ctx context.Context, t *task, n *notes) error {
	rule, interval := f.o.ruleOf(t)
	spans := map[uint32]*lateHour{} // by the begins of intervals, or hours if these are longer
	span := uint32(max(interval.Seconds, schema.RowSeconds))
	for base, h := range n.hours {
		at := base - base%span
		if spans[at] == nil {
			spans[at] = &lateHour{metrics: map[string]*lateMetric{}}
		}
		spans[at].add(h)
	}
	t.From = min(max(t.From, before(f.o.Now(), rule.Back, interval)), t.Done)
	for _, at := range slices.Sorted(maps.Keys(spans)) {
		w := work{interval: interval, from: max(at, t.From), to: min(at+span, t.Done), erase: true}
		if w.from >= w.to {
			continue // what is not filled yet reads the points as they are then
		}
		if err := f.againSpan(ctx, rule, w, spans[at]); err != nil {
			return err
		}
	}
	return nil
}

// add adds what has changed in another hour.
func (h *lateHour) add(o *lateHour) {
	h.all = h.all || o.all
	for metric, of := range o.metrics {
		m := h.metrics[metric]
		if m == nil {
			m = &lateMetric{series: map[string]bool{}}
			h.metrics[metric] = m
		}
		m.all = m.all || of.all
		maps.Copy(m.series, of.series)
	}
}

// againSpan fills the intervals of one span.
func (f *Filler) againSpan(ctx context.Context, rule *Rule, w work, changed *lateHour) error {
	// Series are found whenever they had points: of some all have been deleted. On shared tables, whose index knows no
	// times, a search of all rows is spared.
	start, end := int64(0), int64(storage.MaxTime)
	if f.o.shared() {
		start, end = int64(w.from)*1000, f.lastOf(w.to)
	}
	metrics, err := f.changedMetrics(ctx, changed, start, end)
	if err != nil {
		return err
	}
	metrics = slices.DeleteFunc(metrics, func(m string) bool { return !storage.MayHave(rule.Filters, m) })
	for some := range slices.Chunk(metrics, metricsAtOnce) {
		if f.o.Now().Sub(f.saved) >= renewEvery {
			if err := f.save(ctx); err != nil {
				return err
			}
		}
		found, err := f.find(ctx, rule, some, start, end)
		if err != nil {
			return err
		}
		part := w
		part.series = slices.DeleteFunc(found, func(s storage.Found) bool { return !changed.has(f.o.TSUID(s.Ref), f.o.Layout) })
		if err := f.fill(ctx, &part); err != nil {
			return err
		}
	}
	return nil
}

func (h *lateHour) has(tsuid string, l schema.Layout) bool {
	m := h.metrics[tsuid[:l.MetricWidth]]
	return h.all || m != nil && (m.all || m.series[tsuid])
}

// changedMetrics returns the names of the metrics that have changed.
func (f *Filler) changedMetrics(ctx context.Context, changed *lateHour, start, end int64) (metrics []string, err error) {
	if changed.all {
		return f.o.Catalog.NamedMetrics(ctx, start, end)
	}
	for uid := range changed.metrics {
		name, err := f.o.Name(ctx, uid)
		if err != nil {
			return nil, err
		}
		if name != "" {
			metrics = append(metrics, name)
		}
	}
	slices.Sort(metrics)
	return metrics, nil
}

// measure sets the gauges.
func (f *Filler) measure() {
	lag := 0.0
	for _, t := range f.state.Tasks {
		rule, interval := f.o.ruleOf(t)
		lag = max(lag, float64(before(f.o.Now(), rule.Delay, interval))-float64(t.Done))
	}
	f.metrics.lag.Set(lag)
}
