package operator

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangefn"
)

// A Leaf is a selector, or a function of the range of one, and what is done with each of its series
// alone. It evaluates one series after the other while they are read, so that an aggregation never
// holds what it aggregates.
type Leaf struct {
	Read *Read
	rangefn.Windows
	Args     []*Node // of the function, scalars
	Mappings []*Mapping
	Sinks    []Sink
	// Keeps means that the series are needed as a block.
	Keeps bool

	columns columns.Set
	Held    int64 // samples of all series before mappings
	names   NameCheck
	warned  string // the name of the newest warning
	Added   []int  // series, also those that mappings left nothing of
	Count   rangefn.SampleCount
	result  *block.Block
	failed  error // of the checks of all series
}

// A Sink takes series in their order. Their values are only valid during the call. named means that
// the labels still have the name of the metric although it has to be dropped now.
type Sink interface {
	// Begin is called once before all.
	Begin(e *Evaluation) error
	Add(e *Evaluation, s *block.Series, named bool) error
}

// drops reports whether the name of the metric is dropped.
func (l *Leaf) drops() bool {
	if l.Stamps && !l.Named || l.Function != nil && !l.Function.KeepsName {
		return true
	}
	for _, m := range l.Mappings {
		if m.Drops {
			return true
		}
	}
	return false
}

// begin evaluates the arguments.
func (l *Leaf) begin(e *Evaluation) error {
	l.result = e.NewBlock(l.Grid)
	var err error
	if l.Constants, err = e.constants(l.Args); err != nil {
		return err
	}
	for _, m := range l.Mappings {
		if m.constants, err = e.constants(m.Args); err != nil {
			return err
		}
	}
	for _, to := range l.Sinks {
		if err := to.Begin(e); err != nil {
			return err
		}
	}
	return nil
}

// constants evaluates scalars. They stay in memory until the query ends.
func (e *Evaluation) constants(args []*Node) ([][]float64, error) {
	all := make([][]float64, 0, len(args))
	for _, a := range args {
		_, values, err := a.Values(e)
		if err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	return all, nil
}

// add takes a series, in the order of the series.
func (l *Leaf) add(e *Evaluation, f found) error {
	s := f.Series
	s.Labels = l.columns.Labels(f.index)
	name := l.names.See(s.Labels)
	if l.Function != nil && l.Function.Counter && f.floats && name != l.warned && name != "" && !namedAsCounter(name) {
		l.warned = name
		l.Warn(annotations.NewPossibleNonCounterInfo(name, l.Argument))
	}
	l.Added = append(l.Added, f.index)
	if len(s.Values) == 0 { // a comparison left nothing
		return nil
	}
	s.DropName = l.drops()
	named := s.DropName && !e.Delayed
	for _, to := range l.Sinks {
		if err := to.Add(e, &s, named); err != nil {
			return err
		}
	}
	if l.Keeps {
		if named {
			s.Labels = s.Labels.DropReserved(IsMetadata)
		}
		l.result.Series = append(l.result.Series, s)
	}
	return nil
}

// finish runs the checks that need all series.
func (l *Leaf) finish(e *Evaluation) error {
	for i := range l.result.Series {
		l.result.Samples += l.result.Series[i].Samples()
	}
	// The library holds the input of a mapping in addition to its result, and numbers at each step.
	if n := len(l.Mappings); n > 0 {
		more := int(l.Held) + 2*len(l.Added) + (n+1)*(l.Grid.Steps+1) + 2
		if err := e.Peak(more); err != nil {
			return err
		}
	}
	e.Unhold(int(l.Held) - l.result.Samples)
	if e.Delayed || !l.drops() || !l.names.Several {
		return nil
	}
	return distinct(&l.Windows, len(l.Added), func(i int) labels.Labels { return l.columns.Labels(l.Added[i]).DropReserved(IsMetadata) })
}

// Inputs implements Operator.
func (l *Leaf) Inputs() []*Node { return l.Args }

// AllNotes returns the annotations of the leaf, in the order of the operators that it stands for.
func (l *Leaf) AllNotes() []*annotation.Notes {
	all := []*annotation.Notes{l.Notes}
	for _, m := range l.Mappings {
		if m.Notes != nil {
			all = append(all, m.Notes)
		}
	}
	return all
}

// run reads the series.
func (l *Leaf) run(e *Evaluation) error {
	if err := l.Read.run(e); err != nil {
		return err
	}
	return l.failed
}

// Eval returns the series, if keeps is set.
func (l *Leaf) Eval(e *Evaluation) (*block.Block, error) {
	if err := l.run(e); err != nil {
		return nil, err
	}
	return l.result, nil
}

// distinct returns an error if labels repeat: that of the library if a function has dropped the
// names, else ErrHandOver. The library joins series of instants where they do not overlap. Like the
// library, it treats label sets with the same hash as equal.
func distinct(w *rangefn.Windows, n int, of func(i int) labels.Labels) error {
	if !repeated(n, of) {
		return nil
	}
	if w.Function != nil && !w.Function.KeepsName && !w.Absent {
		return ErrSameLabels
	}
	return columns.ErrEqual
}

// repeated reports whether labels repeat.
func repeated(n int, of func(i int) labels.Labels) bool {
	seen := make(map[uint64]struct{}, n)
	for i := range n {
		seen[of(i).Hash()] = struct{}{}
	}
	return len(seen) < n
}

// Sampled implements Sampler.
func (l *Leaf) Sampled() (total, read int64) { return l.Count.Total, l.Count.Read }

// Reads implements Reader.
func (l *Leaf) Reads() []*Read { return []*Read{l.Read} }
