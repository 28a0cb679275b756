package rangeql

import (
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
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

func (o *subquery) noted() []*notes { return []*notes{o.notes} }

func (o *subquery) eval(e *evaluation) (*block, error) {
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
	b.series = make([]series, len(in.series))
	err = e.inParallel(b, len(in.series), len(in.series)*(o.grid.steps+in.steps), func(l *lane, i int) error {
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
	return b, distinct(&o.windows, len(b.series), func(i int) labels.Labels { return b.series[i].labels })
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
	column Column
}

func (o *subquery) series(e *evaluation, b, in *block, l *lane, i int) error {
	s, w := &in.series[i], l.samples
	w.read(in, s)
	values, err := l.memory.take(o.grid.steps)
	if err != nil {
		return err
	}
	w.evaluate(s.labels, w.column, values)
	out := series{hists: w.hists, labels: s.labels, dropName: s.dropName || !o.function.keepsName, values: values}
	if out.dropName {
		out.labels = e.withoutName(s.labels)
	}
	out.trim()
	b.series[i] = out
	return nil
}

// read makes samples of the values of a series.
func (w *subqueryWorker) read(in *block, s *series) {
	c := &w.column
	c.Times, c.Values, c.Histograms = c.Times[:0], c.Values[:0], c.Histograms[:0]
	for k, v := range s.values {
		if !isAbsent(v) {
			c.Times, c.Values = append(c.Times, in.time(s.from+k)), append(c.Values, v)
		}
	}
	for k, h := range s.hists {
		if h == nil {
			continue
		}
		if h.CounterResetHint == histogram.NotCounterReset || h.CounterResetHint == histogram.CounterReset {
			// The samples between the steps are not known.
			unknown := *h
			unknown.CounterResetHint = histogram.UnknownCounterReset
			h = &unknown
		}
		c.Histograms = append(c.Histograms, promql.HPoint{T: in.time(s.from + k), H: h})
	}
}

// check warns about counters that are not named as such.
func (o *subquery) check(in, b *block) {
	if !o.function.counter {
		return
	}
	for i := range b.series {
		name := in.series[i].labels.Get(model.MetricNameLabel)
		if name != "" && countPresent(b.series[i].values) > 0 && !namedAsCounter(name) {
			o.notes.warn(annotations.NewPossibleNonCounterInfo(name, o.argument))
		}
	}
}
