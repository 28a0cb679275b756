package rangeql

import (
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// A subquery is a function of a range of the values of an expression at steps of its own.
type subquery struct {
	windows
	args  []*node // of the function, scalars
	input *node   // at the steps of the subquery
	count sampleCount

	mu      sync.Mutex
	workers []*subqueryWorker
}

func (o *subquery) inputs() []*node { return append([]*node{o.input}, o.args...) }

// sampled does not count what is read: its input does.
func (o *subquery) sampled() (total, read int64) { return o.count.total, 0 }

func (*subquery) name() string { return "subquery function" }

func (o *subquery) noted() []*annotation.Notes { return []*annotation.Notes{o.notes} }

func (o *subquery) eval(e *evaluation) (*block.Block, error) {
	constants, release, err := e.arguments(o.args)
	if err != nil {
		return nil, err
	}
	defer release()
	o.constants = constants
	in, err := o.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	b := e.newBlock(o.grid)
	b.Series = make([]block.Series, len(in.Series))
	err = e.inParallel(b, len(in.Series), len(in.Series)*(o.grid.Steps+in.Steps), func(l *lane, i int) error {
		if l.samples == nil {
			l.samples = o.newWorker(e)
		}
		return o.series(e, b, in, l, i)
	})
	for _, w := range o.workers {
		o.count.add(w.count)
	}
	if err != nil {
		return b, err
	}
	if err := e.peak(o.count.most); err != nil {
		return b, err
	}
	o.check(in, b)
	if err := e.seal(b); err != nil {
		return b, err
	}
	if e.delayed || !severalNames(in) {
		return b, nil
	}
	return b, distinct(&o.windows, len(b.Series), func(i int) labels.Labels { return b.Series[i].Labels })
}

// newWorker returns the worker of a lane.
func (o *subquery) newWorker(e *evaluation) *subqueryWorker {
	w := &subqueryWorker{evaluator: newEvaluator(&o.windows)}
	w.ended = func() bool { return e.ctx.Err() != nil }
	o.mu.Lock()
	defer o.mu.Unlock()
	o.workers = append(o.workers, w)
	return w
}

// subqueryWorker evaluates series, in one goroutine.
type subqueryWorker struct {
	*evaluator
	column columns.Column
}

func (o *subquery) series(e *evaluation, b, in *block.Block, l *lane, i int) error {
	s, w := &in.Series[i], l.samples
	w.read(in, s)
	values, err := l.memory.Take(o.grid.Steps)
	if err != nil {
		return err
	}
	w.evaluate(s.Labels, w.column, values)
	out := block.Series{Hists: w.hists, Labels: s.Labels, DropName: s.DropName || !o.function.keepsName, Values: values}
	if out.DropName {
		out.Labels = e.withoutName(s.Labels)
	}
	out.Trim()
	b.Series[i] = out
	return nil
}

// read makes samples of the values of a series.
func (w *subqueryWorker) read(in *block.Block, s *block.Series) {
	c := &w.column
	c.Times, c.Values, c.Histograms = c.Times[:0], c.Values[:0], c.Histograms[:0]
	for k, v := range s.Values {
		if !block.IsAbsent(v) {
			c.Times, c.Values = append(c.Times, in.Time(s.From+k)), append(c.Values, v)
		}
	}
	for k, h := range s.Hists {
		if h == nil {
			continue
		}
		if h.CounterResetHint == histogram.NotCounterReset || h.CounterResetHint == histogram.CounterReset {
			// The samples between the steps are not known.
			unknown := *h
			unknown.CounterResetHint = histogram.UnknownCounterReset
			h = &unknown
		}
		c.Histograms = append(c.Histograms, promql.HPoint{T: in.Time(s.From + k), H: h})
	}
}

// check warns about counters that are not named as such.
func (o *subquery) check(in, b *block.Block) {
	if !o.function.counter {
		return
	}
	for i := range b.Series {
		name := in.Series[i].Labels.Get(model.MetricNameLabel)
		if name != "" && block.CountPresent(b.Series[i].Values) > 0 && !namedAsCounter(name) {
			o.notes.Warn(annotations.NewPossibleNonCounterInfo(name, o.argument))
		}
	}
}
