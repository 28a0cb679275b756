package rangeql

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// A leaf is a selector, or a function of the range of one, and what is done with each of its series
// alone. It evaluates one series after the other while they are read, so that an aggregation never
// holds what it aggregates.
type leaf struct {
	read *read
	windows
	args     []*node // of the function, scalars
	mappings []*mapping
	sinks    []sink
	// keeps means that the series are needed as a block.
	keeps bool

	columns columns.Set
	held    int64 // samples of all series before mappings
	names   nameCheck
	warned  string // the name of the newest warning
	added   []int  // series, also those that mappings left nothing of
	count   sampleCount
	result  *block.Block
	failed  error // of the checks of all series
}

// A sink takes series in their order. Their values are only valid during the call. named means that
// the labels still have the name of the metric although it has to be dropped now.
type sink interface {
	// begin is called once before all.
	begin(e *evaluation) error
	add(e *evaluation, s *block.Series, named bool) error
}

// drops reports whether the name of the metric is dropped.
func (l *leaf) drops() bool {
	if l.stamps && !l.named || l.function != nil && !l.function.keepsName {
		return true
	}
	for _, m := range l.mappings {
		if m.drops {
			return true
		}
	}
	return false
}

// begin evaluates the arguments.
func (l *leaf) begin(e *evaluation) error {
	l.result = e.newBlock(l.grid)
	var err error
	if l.constants, err = e.constants(l.args); err != nil {
		return err
	}
	for _, m := range l.mappings {
		if m.constants, err = e.constants(m.args); err != nil {
			return err
		}
	}
	for _, to := range l.sinks {
		if err := to.begin(e); err != nil {
			return err
		}
	}
	return nil
}

// constants evaluates scalars. They stay in memory until the query ends.
func (e *evaluation) constants(args []*node) ([][]float64, error) {
	all := make([][]float64, 0, len(args))
	for _, a := range args {
		_, values, err := a.values(e)
		if err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	return all, nil
}

// add takes a series, in the order of the series.
func (l *leaf) add(e *evaluation, f found) error {
	s := f.Series
	s.Labels = l.columns.Labels(f.index)
	name := l.names.see(s.Labels)
	if l.function != nil && l.function.counter && f.floats && name != l.warned && name != "" && !namedAsCounter(name) {
		l.warned = name
		l.notes.Warn(annotations.NewPossibleNonCounterInfo(name, l.argument))
	}
	l.added = append(l.added, f.index)
	if len(s.Values) == 0 { // a comparison left nothing
		return nil
	}
	s.DropName = l.drops()
	named := s.DropName && !e.delayed
	for _, to := range l.sinks {
		if err := to.add(e, &s, named); err != nil {
			return err
		}
	}
	if l.keeps {
		if named {
			s.Labels = s.Labels.DropReserved(isMetadata)
		}
		l.result.Series = append(l.result.Series, s)
	}
	return nil
}

// finish runs the checks that need all series.
func (l *leaf) finish(e *evaluation) error {
	for i := range l.result.Series {
		l.result.Samples += l.result.Series[i].Samples()
	}
	// The library holds the input of a mapping beside its result, and numbers at each step.
	if n := len(l.mappings); n > 0 {
		more := int(l.held) + 2*len(l.added) + (n+1)*(l.grid.Steps+1) + 2
		if err := e.peak(more); err != nil {
			return err
		}
	}
	e.let(int(l.held) - l.result.Samples)
	if e.delayed || !l.drops() || !l.names.several {
		return nil
	}
	return distinct(&l.windows, len(l.added), func(i int) labels.Labels { return l.columns.Labels(l.added[i]).DropReserved(isMetadata) })
}

func (l *leaf) inputs() []*node { return l.args }

// noted returns the annotations of the leaf, in the order of the operators that it stands for.
func (l *leaf) noted() []*annotation.Notes {
	all := []*annotation.Notes{l.notes}
	for _, m := range l.mappings {
		if m.notes != nil {
			all = append(all, m.notes)
		}
	}
	return all
}

// run reads the series.
func (l *leaf) run(e *evaluation) error {
	if err := l.read.run(e); err != nil {
		return err
	}
	return l.failed
}

// eval returns the series, if keeps is set.
func (l *leaf) eval(e *evaluation) (*block.Block, error) {
	if err := l.run(e); err != nil {
		return nil, err
	}
	return l.result, nil
}

// distinct returns an error if labels repeat: that of the library if a function has dropped the
// names, else ErrHandOver. The library joins series of instants where they do not overlap. Like the
// library, it treats label sets with the same hash as equal.
func distinct(w *windows, n int, of func(i int) labels.Labels) error {
	if !repeated(n, of) {
		return nil
	}
	if w.function != nil && !w.function.keepsName && !w.absent {
		return errSameLabels
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

func (l *leaf) name() string {
	if l.function != nil {
		return "range function"
	}
	return "selector"
}

func (l *leaf) sampled() (total, read int64) { return l.count.total, l.count.read }

func (l *leaf) reads() []*read { return []*read{l.read} }
