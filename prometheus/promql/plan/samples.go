package plan

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// SamplesAnswer is a query for the samples of a range, like up[5m] alone. It is no operator: its
// answer has no steps.
type SamplesAnswer struct {
	selector columns.Selector
	// start and end are those of the range: after start, not after end.
	start, end         int64
	anchored, smoothed bool

	Count rangefn.SampleCount
	Found int           // series with samples
	Stats operator.Read // for explanations
}

// newSamplesAnswer returns the answer to a query for a range selector.
func newSamplesAnswer(m *parser.MatrixSelector, g block.Grid, lookback time.Duration) (*SamplesAnswer, error) {
	vs := m.VectorSelector.(*parser.VectorSelector)
	w, err := windowsOf(vs, g, m.Range)
	if err != nil {
		return nil, err
	}
	a := &SamplesAnswer{anchored: vs.Anchored, smoothed: vs.Smoothed}
	a.start, a.end = w.Window(0)
	a.selector = columns.Selector{Matchers: vs.LabelMatchers, Start: a.start + 1, End: a.end}
	if a.anchored || a.smoothed {
		a.selector.Start -= lookback.Milliseconds()
	}
	if a.smoothed {
		a.selector.End += lookback.Milliseconds()
	}
	return a, nil
}

// read returns the samples.
func (a *SamplesAnswer) read(e *operator.Evaluation, memory *Points) (parser.Value, error) {
	a.Stats.Selector = a.selector
	watch := e.Start()
	defer func() { a.Stats.Took = e.Stop(watch) }()
	ctx, rows := query.BeginTally(e.Ctx)
	a.Stats.Rows = rows
	set, err := e.Find(ctx, a.selector, operator.Minutes(a.selector))
	if err != nil {
		return nil, operator.Expanding(err)
	}
	a.Stats.Found = set.Len()
	memory.account = e.Account
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
		return nil, e.ReadingError(err, failed)
	}
	a.Found = len(answer)
	sortByLabels(answer)
	return answer, nil
}

// A samplesWorker copies the samples of parts.
type samplesWorker struct {
	answer     *SamplesAnswer
	evaluation *operator.Evaluation
	columns    columns.Set
	memory     *Points
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
	w.failed = operator.ContextError(ctx)
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
	if err := w.evaluation.Hold(len(c.Times)); err != nil {
		return err
	}
	const ends = 2 // points that an extended range gets
	floats, err := w.memory.take(len(c.Times) + ends)
	if err != nil {
		return err
	}
	a.copyTo(&s, c, floats)
	samples := block.SamplesOf(s)
	a.Stats.Samples += int64(len(c.Times) + len(c.Histograms))
	if samples == 0 {
		return nil
	}
	a.Count.Add(rangefn.SampleCount{Total: int64(samples), Read: int64(samples)})
	*w.found = append(*w.found, s)
	return w.evaluation.Hold(samples - len(s.Floats))
}

// copyTo sets the points of a series to those of a column, without stale markers. memory holds
// the floats.
func (a *SamplesAnswer) copyTo(s *promql.Series, c columns.Column, memory []promql.FPoint) {
	within := func(t int64) bool { return t >= a.selector.Start && t <= a.selector.End }
	for i, v := range c.Values {
		if t := c.Times[i]; within(t) && !value.IsStaleNaN(v) {
			memory = append(memory, promql.FPoint{T: t, F: v})
		}
	}
	if a.anchored || a.smoothed {
		memory = rangefn.Extended(memory, a.start, a.end, a.smoothed)
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
