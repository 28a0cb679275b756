package operator

import (
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// A Subquery is a function of a range of the values of an expression at steps of its own.
type Subquery struct {
	rangefn.Windows
	Args  []*Node // of the function, scalars
	Input *Node   // at the steps of the subquery
	count rangefn.SampleCount

	mu      sync.Mutex
	workers []*subqueryWorker
}

// Inputs implements Operator.
func (o *Subquery) Inputs() []*Node { return append([]*Node{o.Input}, o.Args...) }

// Sampled does not count what is read: its input does.
func (o *Subquery) Sampled() (total, read int64) { return o.count.Total, 0 }

// Eval implements Operator.
func (o *Subquery) Eval(e *Evaluation) (*block.Block, error) {
	constants, release, err := e.Arguments(o.Args)
	if err != nil {
		return nil, err
	}
	defer release()
	o.Constants = constants
	in, err := o.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	b := e.NewBlock(o.Grid)
	b.Series = make([]block.Series, len(in.Series))
	err = e.InParallel(b, len(in.Series), len(in.Series)*(o.Grid.Steps+in.Steps), func(l *Lane, i int) error {
		if l.samples == nil {
			l.samples = o.newWorker(e)
		}
		return o.series(e, b, in, l, i)
	})
	for _, w := range o.workers {
		o.count.Add(w.Count)
	}
	if err != nil {
		return b, err
	}
	if err := e.Peak(o.count.Most); err != nil {
		return b, err
	}
	o.check(in, b)
	if err := e.Seal(b); err != nil {
		return b, err
	}
	if e.Delayed || !SeveralNames(in) {
		return b, nil
	}
	return b, distinct(&o.Windows, len(b.Series), func(i int) labels.Labels { return b.Series[i].Labels })
}

// newWorker returns the worker of a lane.
func (o *Subquery) newWorker(e *Evaluation) *subqueryWorker {
	w := &subqueryWorker{Evaluator: rangefn.NewEvaluator(&o.Windows)}
	w.Ended = func() bool { return e.Ctx.Err() != nil }
	o.mu.Lock()
	defer o.mu.Unlock()
	o.workers = append(o.workers, w)
	return w
}

// subqueryWorker evaluates series, in one goroutine.
type subqueryWorker struct {
	*rangefn.Evaluator
	column columns.Column
}

func (o *Subquery) series(e *Evaluation, b, in *block.Block, l *Lane, i int) error {
	s, w := &in.Series[i], l.samples
	w.read(in, s)
	values, err := l.Memory.Take(o.Grid.Steps)
	if err != nil {
		return err
	}
	w.Evaluate(s.Labels, w.column, values)
	out := block.Series{Hists: w.Hists, Labels: s.Labels, DropName: s.DropName || !o.Function.KeepsName, Values: values}
	if out.DropName {
		out.Labels = e.WithoutName(s.Labels)
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
func (o *Subquery) check(in, b *block.Block) {
	if !o.Function.Counter {
		return
	}
	for i := range b.Series {
		name := in.Series[i].Labels.Get(model.MetricNameLabel)
		if name != "" && block.CountPresent(b.Series[i].Values) > 0 && !namedAsCounter(name) {
			o.Warn(annotations.NewPossibleNonCounterInfo(name, o.Argument))
		}
	}
}
