package rangeql

import (
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/tally"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// An Explanation is how a query was evaluated. Its numbers are collected for each node, series or
// part, never for each sample, by every evaluation.
type Explanation struct {
	// Path is the label of tsdbridge_promql_queries_total, and Left that of tsdbridge_promql_queries_left_total,
	// empty if the query was answered from columns.
	Path, Left string
	// Plan is the operators of the query, nil if it was not parsed. If the query was handed over, some were not evaluated; if
	// it was left to the library, the selectors are all that is known.
	Plan  *Step
	Reads []Read
}

// A Step is an operator and what it computed.
type Step struct {
	ID         int // ascends from 1
	Operator   string
	Expression string // empty for operators that are no expression of the query
	// Shared is how many operators use the result. Only the first of them shows the inputs.
	Shared int
	Again  bool // shown before, under the same ID
	Done   bool // it was evaluated
	// Series and Samples are of the result; of a selector or a function of its range, those that are
	// found, before its mappings.
	Series, Samples int
	// Took is without inputs and reads.
	Took   time.Duration
	Reads  []int // indexes into the reads
	Inputs []*Step
}

// A Read is the reading of a selector. Its samples are evaluated, and aggregated if an aggregation
// takes them, while they are read.
type Read struct {
	columns.Selector
	Series  int   // found
	Samples int64 // that were read
	// Summaries is how many intervals were read instead of samples.
	Summaries int64
	Took      time.Duration
	// Computing is the time of all cores for the evaluation of samples.
	Computing time.Duration
	// Rows is what it read; nil: it was not begun.
	Rows *tally.Tally
}

// explainer is a query that knows how it was evaluated.
type explainer interface{ explain() Explanation }

// Explain returns how a query of an Engine was evaluated. The query must have been executed, and not
// closed.
func Explain(q promql.Query) Explanation {
	switch q := q.(type) {
	case explainer:
		return q.explain()
	case interface{ Unwrap() promql.Query }:
		return Explain(q.Unwrap())
	}
	return Explanation{Path: pathLibrary}
}

func (q *counted) explain() Explanation {
	x := Explanation{Path: pathLibrary, Left: q.why}
	q.recorded.explain(&x, q.String(), q.answer, q.took)
	return x
}

func (q *columnQuery) explain() Explanation {
	x := Explanation{Path: pathColumns, Left: q.left}
	if q.handedOver {
		x.Path = pathHandedOver
	}
	e := explaining{&x, map[*node]*Step{}, map[*read]int{}}
	for _, r := range q.plan.reads {
		e.read(r)
	}
	switch p := q.plan; {
	case p.root != nil:
		x.Plan = e.step(p.root)
	case p.samples != nil:
		e.read(&p.samples.stats)
		x.Plan = &Step{ID: 1, Operator: "samples", Expression: p.expr.String(), Shared: 1, Done: true, Samples: int(p.samples.count.total), Series: p.samples.found, Reads: []int{0}}
	default:
		x.Plan = &Step{ID: 1, Operator: "string", Expression: p.expr.String(), Shared: 1, Done: true}
	}
	return x
}

// explaining makes an Explanation.
type explaining struct {
	*Explanation
	seen  map[*node]*Step
	reads map[*read]int
}

func (x explaining) read(r *read) int {
	i, ok := x.reads[r]
	if !ok {
		i = len(x.Reads)
		x.reads[r] = i
		x.Reads = append(x.Reads, Read{Selector: r.selector, Series: r.found, Samples: r.samples, Summaries: r.summaries, Took: r.took, Computing: r.computing, Rows: r.rows})
	}
	return i
}

func (x explaining) step(n *node) *Step {
	if s := x.seen[n]; s != nil {
		return &Step{ID: s.ID, Operator: s.Operator, Expression: s.Expression, Shared: s.Shared, Again: true, Done: s.Done, Series: s.Series, Samples: s.Samples}
	}
	s := &Step{
		ID: len(x.seen) + 1, Operator: n.name(), Expression: n.text, Shared: n.users,
		Done: n.done, Series: n.rows, Samples: n.samples, Took: n.took,
	}
	x.seen[n] = s
	if l, ok := n.operator.(*leaf); ok {
		s.Shared += len(l.sinks)
		s.Done, s.Series, s.Samples = l.read.done, len(l.added), int(l.held)
	}
	if o, ok := n.operator.(reader); ok {
		for _, r := range o.reads() {
			s.Reads = append(s.Reads, x.read(r))
		}
	}
	for _, in := range n.inputs() {
		s.Inputs = append(s.Inputs, x.step(in))
	}
	return s
}
