package rangeql

import (
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/aggregate"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/histograms"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/instantfn"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/join"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
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
	Rows *query.Tally
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
	e := explaining{&x, map[*operator.Node]*Step{}, map[*operator.Read]int{}}
	for _, r := range q.plan.Reads {
		e.read(r)
	}
	switch p := q.plan; {
	case p.Root != nil:
		x.Plan = e.step(p.Root)
	case p.Samples != nil:
		e.read(&p.Samples.Stats)
		x.Plan = &Step{ID: 1, Operator: "samples", Expression: p.Expr.String(), Shared: 1, Done: true, Samples: int(p.Samples.Count.Total), Series: p.Samples.Found, Reads: []int{0}}
	default:
		x.Plan = &Step{ID: 1, Operator: "string", Expression: p.Expr.String(), Shared: 1, Done: true}
	}
	return x
}

// explaining makes an Explanation.
type explaining struct {
	*Explanation
	seen  map[*operator.Node]*Step
	reads map[*operator.Read]int
}

func (x explaining) read(r *operator.Read) int {
	i, ok := x.reads[r]
	if !ok {
		i = len(x.Reads)
		x.reads[r] = i
		x.Reads = append(x.Reads, Read{Selector: r.Selector, Series: r.Found, Samples: r.Samples, Summaries: r.Summaries, Took: r.Took, Computing: r.Computing, Rows: r.Rows})
	}
	return i
}

func (x explaining) step(n *operator.Node) *Step {
	if s := x.seen[n]; s != nil {
		return &Step{ID: s.ID, Operator: s.Operator, Expression: s.Expression, Shared: s.Shared, Again: true, Done: s.Done, Series: s.Series, Samples: s.Samples}
	}
	s := &Step{
		ID: len(x.seen) + 1, Operator: operatorName(n.Operator), Expression: n.Text, Shared: n.Users,
		Done: n.Done, Series: n.Rows, Samples: n.Samples, Took: n.Took,
	}
	x.seen[n] = s
	if l, ok := n.Operator.(*operator.Leaf); ok {
		s.Shared += len(l.Sinks)
		s.Done, s.Series, s.Samples = l.Read.Done, len(l.Added), int(l.Held)
	}
	if o, ok := n.Operator.(operator.Reader); ok {
		for _, r := range o.Reads() {
			s.Reads = append(s.Reads, x.read(r))
		}
	}
	for _, in := range n.Inputs() {
		s.Inputs = append(s.Inputs, x.step(in))
	}
	return s
}

// operatorName returns the name of a kind of operator.
func operatorName(o operator.Operator) string {
	switch o := o.(type) {
	case *operator.Leaf:
		if o.Function != nil {
			return "range function"
		}
		return "selector"
	case *operator.Subquery:
		return "subquery function"
	case *aggregate.Aggregation:
		return "aggregation"
	case *aggregate.Ranking:
		return "ranking"
	case *aggregate.Quantiles:
		return "quantile"
	case *aggregate.CountValues:
		return "count_values"
	case join.Vectors:
		return "binary operation"
	case join.Sets:
		return "set operation"
	case instantfn.Scalars:
		return "scalar operation"
	case instantfn.Mapped:
		return "function"
	case *histograms.Buckets:
		return "histogram"
	case *instantfn.Absent:
		return "absent"
	case instantfn.Relabel:
		return "relabel"
	case instantfn.Sorting:
		return "sort"
	case operator.Repeat:
		return "repeat"
	case *join.Info:
		return "info"
	case instantfn.ToScalar:
		return "scalar"
	case instantfn.Number:
		return "number"
	case instantfn.Clock:
		return "time"
	case operator.Refusal:
		return "refusal"
	}
	return "no steps" // empty
}
