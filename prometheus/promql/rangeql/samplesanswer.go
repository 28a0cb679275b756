package rangeql

import (
	"context"
	"errors"
	"iter"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/internal/tally"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// samplesAnswer is a query for the samples of a range, like up[5m] alone. It is no operator: its
// answer has no steps.
type samplesAnswer struct {
	selector columns.Selector
	// start and end are those of the range: after start, not after end.
	start, end         int64
	anchored, smoothed bool

	count sampleCount
	found int  // series with samples
	stats read // for explanations
}

// newSamplesAnswer returns the answer to a query for a range selector.
func (p *planner) newSamplesAnswer(m *parser.MatrixSelector, g block.Grid) (*samplesAnswer, error) {
	vs := m.VectorSelector.(*parser.VectorSelector)
	w, err := p.windows(vs, g, m.Range)
	if err != nil {
		return nil, err
	}
	a := &samplesAnswer{anchored: vs.Anchored, smoothed: vs.Smoothed}
	a.start, a.end = w.window(0)
	a.selector = columns.Selector{Matchers: vs.LabelMatchers, Start: a.start + 1, End: a.end}
	if a.anchored || a.smoothed {
		a.selector.Start -= p.lookback.Milliseconds()
	}
	if a.smoothed {
		a.selector.End += p.lookback.Milliseconds()
	}
	return a, nil
}

// read returns the samples.
func (a *samplesAnswer) read(e *evaluation, memory *points) (parser.Value, error) {
	a.stats.selector = a.selector
	watch := e.start()
	defer func() { a.stats.took = e.stop(watch) }()
	ctx, rows := tally.Begin(e.ctx)
	a.stats.rows = rows
	set, err := e.find(ctx, a.selector, minutes(a.selector))
	if err != nil {
		return nil, expanding(err)
	}
	a.stats.found = set.Len()
	memory.account = e.account
	answer := promql.Matrix{}
	var workers []*samplesWorker
	err = set.Read(ctx, 0, func() columns.Worker {
		w := &samplesWorker{answer: a, evaluation: e, columns: set, memory: memory, found: &answer}
		workers = append(workers, w)
		return w
	})
	if err != nil {
		failed := make([]error, len(workers))
		for i, w := range workers {
			failed[i] = w.failed
		}
		return nil, e.readingError(err, failed)
	}
	a.found = len(answer)
	sortByLabels(answer)
	return answer, nil
}

// A samplesWorker copies the samples of parts.
type samplesWorker struct {
	answer     *samplesAnswer
	evaluation *evaluation
	columns    columns.Set
	memory     *points
	found      *promql.Matrix // by all workers

	part   []columns.Column
	rows   []int
	failed error
}

// Take keeps the columns until Commit.
func (w *samplesWorker) Take(_ context.Context, part iter.Seq2[int, columns.Column]) error {
	w.part, w.rows = w.part[:0], w.rows[:0]
	for i, c := range part {
		w.part, w.rows = append(w.part, c), append(w.rows, i)
	}
	return nil
}

// Commit copies the samples.
func (w *samplesWorker) Commit(ctx context.Context) error {
	for k, c := range w.part {
		if w.failed = w.series(w.rows[k], c); w.failed != nil {
			return w.failed
		}
	}
	w.failed = contextError(ctx)
	return w.failed
}

func (w *samplesWorker) series(row int, c columns.Column) error {
	a := w.answer
	s := promql.Series{Metric: w.columns.Labels(row)}
	if len(c.Histograms) > 0 {
		switch {
		case a.anchored:
			return errors.New("anchored modifier is not supported with histograms")
		case a.smoothed:
			return errors.New("smoothed modifier is not supported with histograms")
		}
	}
	if err := w.evaluation.hold(len(c.Times)); err != nil {
		return err
	}
	const ends = 2 // points that an extended range gets
	floats, err := w.memory.take(len(c.Times) + ends)
	if err != nil {
		return err
	}
	a.copyTo(&s, c, floats)
	samples := block.SamplesOf(s)
	a.stats.samples += int64(len(c.Times) + len(c.Histograms))
	if samples == 0 {
		return nil
	}
	a.count.add(sampleCount{total: int64(samples), read: int64(samples)})
	*w.found = append(*w.found, s)
	return w.evaluation.hold(samples - len(s.Floats))
}

// copyTo sets the points of a series to those of a column, without stale markers. memory has room for
// the floats.
func (a *samplesAnswer) copyTo(s *promql.Series, c columns.Column, memory []promql.FPoint) {
	within := func(t int64) bool { return t >= a.selector.Start && t <= a.selector.End }
	for i, v := range c.Values {
		if t := c.Times[i]; within(t) && !value.IsStaleNaN(v) {
			memory = append(memory, promql.FPoint{T: t, F: v})
		}
	}
	if a.anchored || a.smoothed {
		memory = extended(memory, a.start, a.end, a.smoothed)
	}
	if len(memory) > 0 {
		s.Floats = memory
	}
	for _, p := range c.Histograms {
		if within(p.T) && !value.IsStaleNaN(p.H.Sum) {
			s.Histograms = append(s.Histograms, p)
		}
	}
}
