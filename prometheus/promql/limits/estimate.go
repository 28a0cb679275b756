package limits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// Limits of an evaluation. Prometheus' engine checks its context between steps and between series,
// so that one series must not take long.
const (
	// visitsPerSample bounds the points that a function visits in one series of a subquery, over
	// all steps, as a multiple of --query.max-samples.
	visitsPerSample = 20
	// storedVisitsPerSample is the same for a series of the store.
	storedVisitsPerSample = 200
	// maxLabelText bounds the text that label_replace and label_join may produce from label values
	// of usualText bytes.
	maxLabelText = 1 << 20
	usualText    = 1 << 10
	// maxReplaceRegexp bounds the regular expression of a label_replace, which is matched with all
	// series without a pause.
	maxReplaceRegexp = 20_000
	maxReplaceWork   = 1 << 32 // instructions times series
)

// Bytes that the engine takes.
const (
	// of a point that is kept: input and output of a step are in memory together.
	pointBytes  = 2 * 16
	stepBytes   = 32  // of a step of a subquery, for its statistics
	seriesBytes = 256 // of a series in matrices, without points and labels
)

// ErrCost is the error of a query that would take too much to evaluate with any data. Its text
// names the limit and its flag.
var ErrCost = errors.New("query takes too much")

// Options are the settings of the engine.
type Options struct {
	MaxSamples  int           // --query.max-samples; 0: more than there is memory for
	DefaultStep time.Duration // of a subquery without a step; 0: a minute
}

// A Cost is what the evaluation of a query takes.
type Cost struct {
	// Fixed is the memory that it takes in addition to what each series takes, in bytes.
	Fixed int64

	maxSamples int
	most       Selector                     // of an unknown selector
	selectors  map[*labels.Matcher]Selector // by the first matcher, which is no other selector's
}

// A Selector is what a selector adds to the cost for each series that it finds.
type Selector struct {
	steps   int64 // that the series is evaluated at
	windows int64 // that one of its samples is looked at in
	text    int64 // bytes of new labels
	replace int64 // instructions of regular expressions
}

// Estimate returns what a statement that the engine has prepared takes. It refuses a statement that
// takes too much for any series.
func Estimate(s *parser.EvalStmt, o Options) (*Cost, error) {
	if o.MaxSamples <= 0 {
		o.MaxSamples = math.MaxInt32
	}
	if o.DefaultStep <= 0 {
		o.DefaultStep = time.Minute
	}
	r := estimator{options: o, cost: &Cost{maxSamples: o.MaxSamples, selectors: map[*labels.Matcher]Selector{}}}
	at := scope{span: s.End.Sub(s.Start).Milliseconds(), interval: max(1, s.Interval.Milliseconds())}
	if _, err := r.expr(s.Expr, at, Selector{steps: at.steps(), windows: 1}); err != nil {
		return nil, err
	}
	return r.cost, nil
}

// A scope is the range of times at which an expression is evaluated, in milliseconds.
type scope struct{ span, interval int64 }

func (s scope) steps() int64 {
	if s.span < 0 {
		return 0
	}
	return s.span/s.interval + 1
}

type estimator struct {
	options Options
	cost    *Cost
}

// expr estimates an expression that is evaluated in a scope, under expressions that add above to
// each series. It returns the length of the longest label value.
func (r *estimator) expr(e parser.Expr, at scope, above Selector) (text int64, err error) {
	switch e := e.(type) {
	case *parser.StepInvariantExpr:
		return r.expr(e.Expr, scope{0, at.interval}, above)
	case *parser.SubqueryExpr:
		inner, err := r.subquery(e, at)
		if err != nil {
			return 0, err
		}
		above.steps = max(above.steps, inner.steps())
		return r.expr(e.Expr, inner, above)
	case *parser.MatrixSelector:
		return r.expr(e.VectorSelector, at, above)
	case *parser.VectorSelector:
		r.selector(e, above)
		return usualText, nil
	case *parser.Call:
		return r.call(e, at, above)
	case *parser.NumberLiteral:
		r.cost.Fixed += above.steps * pointBytes
		return 0, nil
	}
	return r.children(e, at, above)
}

func (r *estimator) children(e parser.Expr, at scope, above Selector) (text int64, err error) {
	for child := range parser.ChildrenIter(e) {
		if inner, ok := child.(parser.Expr); ok {
			n, err := r.expr(inner, at, above)
			if err != nil {
				return 0, err
			}
			text = max(text, n)
		}
	}
	return text, nil
}

func (r *estimator) selector(e *parser.VectorSelector, above Selector) {
	r.cost.most = r.cost.most.most(above)
	if len(e.LabelMatchers) > 0 {
		r.cost.selectors[e.LabelMatchers[0]] = above
	}
}

func (s Selector) most(o Selector) Selector {
	return Selector{max(s.steps, o.steps), max(s.windows, o.windows), max(s.text, o.text), max(s.replace, o.replace)}
}

// subquery returns the scope of the expression in a subquery.
func (r *estimator) subquery(e *parser.SubqueryExpr, at scope) (scope, error) {
	interval := e.Step.Milliseconds()
	if e.Step == 0 {
		interval = r.options.DefaultStep.Milliseconds()
	}
	if interval <= 0 {
		return scope{}, fmt.Errorf("%w: the step of a subquery is below 1ms", ErrCost)
	}
	inner := scope{at.span + e.Range.Milliseconds(), interval}
	if steps := inner.steps(); steps > int64(r.options.MaxSamples) {
		return scope{}, fmt.Errorf("%w: a subquery of %d steps, and --query.max-samples allows %d samples: ask for a longer step or a shorter range",
			ErrCost, steps, r.options.MaxSamples)
	}
	r.cost.Fixed += inner.steps() * stepBytes
	return inner, nil
}

// call estimates a function. A function of a range visits each point once for every window that
// contains it.
func (r *estimator) call(e *parser.Call, at scope, above Selector) (text int64, err error) {
	weight := weightOf(e.Func.Name)
	for _, arg := range e.Args {
		switch arg := arg.(type) {
		case *parser.SubqueryExpr:
			if err := r.visits(arg, at, weight); err != nil {
				return 0, err
			}
		case *parser.MatrixSelector:
			above.windows = weight * windows(arg, at)
		}
	}
	if len(e.Args) == 0 {
		r.cost.Fixed += above.steps * pointBytes
	}
	switch e.Func.Name {
	case "label_replace":
		return r.labelReplace(e, at, above)
	case "label_join":
		return r.labelJoin(e, at, above)
	}
	return r.children(e, at, above)
}

// windows returns in how many windows of a selector a sample is at most.
func windows(e *parser.MatrixSelector, at scope) int64 {
	if v, ok := e.VectorSelector.(*parser.VectorSelector); ok && v.Timestamp != nil {
		return at.steps()
	}
	return min(at.steps(), e.Range.Milliseconds()/at.interval+1)
}

// visits refuses a function of a subquery that would visit too many points of one series.
func (r *estimator) visits(e *parser.SubqueryExpr, at scope, weight int64) error {
	inner, err := r.subquery(e, scope{0, at.interval})
	if err != nil {
		return err
	}
	r.cost.Fixed -= inner.steps() * stepBytes // counted with the subquery itself
	if most := visitsPerSample * int64(r.options.MaxSamples); inner.steps() > most/max(1, at.steps()*weight) {
		return fmt.Errorf("%w: %d steps of a function that looks at %d points each, and --query.max-samples allows %d in all: ask for longer steps or a shorter range",
			ErrCost, at.steps(), inner.steps(), most/weight)
	}
	return nil
}

// weightOf returns how many times longer than a sum a function takes.
func weightOf(function string) int64 {
	switch function {
	case "quantile_over_time", "mad_over_time":
		return 16 // it sorts
	case "predict_linear", "deriv", "stddev_over_time", "stdvar_over_time", "double_exponential_smoothing", "holt_winters":
		return 4
	case "count_over_time", "present_over_time", "absent_over_time", "last_over_time", "first_over_time", "timestamp":
		return 1
	}
	return 2
}

func (r *estimator) labelReplace(e *parser.Call, at scope, above Selector) (text int64, err error) {
	pattern, template := stringOf(e.Args[4]), stringOf(e.Args[2])
	cost := int64(regexpCost(pattern))
	if cost > maxReplaceRegexp {
		return 0, fmt.Errorf("%w: the regular expression of a label_replace has more than %d parts", ErrCost, maxReplaceRegexp)
	}
	above.replace += cost
	references := int64(strings.Count(template, "$"))
	above.text += int64(len(template)) + references*64
	inner, err := r.children(e, at, above)
	if err != nil {
		return 0, err
	}
	return labelText(max(inner, int64(len(template))+references*inner))
}

func (r *estimator) labelJoin(e *parser.Call, at scope, above Selector) (text int64, err error) {
	sources := int64(len(e.Args) - 3)
	separators := sources * int64(len(stringOf(e.Args[2])))
	above.text += separators + sources*64
	inner, err := r.children(e, at, above)
	if err != nil {
		return 0, err
	}
	return labelText(max(inner, separators+sources*inner))
}

// labelText refuses label values that grow, as they do where label_replace calls are nested.
func labelText(n int64) (int64, error) {
	if n > maxLabelText {
		return 0, fmt.Errorf("%w: label_replace and label_join would make label values of more than %d bytes", ErrCost, maxLabelText)
	}
	return n, nil
}

func stringOf(e parser.Expr) string {
	for {
		switch inner := e.(type) {
		case *parser.StringLiteral:
			return inner.Val
		case *parser.ParenExpr:
			e = inner.Expr
		case *parser.StepInvariantExpr:
			e = inner.Expr
		default:
			return ""
		}
	}
}

// Of returns what the selector with these matchers adds for each series. The matchers must be those
// of the statement itself. A nil Cost adds nothing.
func (c *Cost) Of(matchers []*labels.Matcher) Reader {
	if c == nil {
		return Reader{}
	}
	if len(matchers) > 0 {
		if s, ok := c.selectors[matchers[0]]; ok {
			return Reader{s, int64(c.maxSamples)}
		}
	}
	return Reader{c.most, int64(c.maxSamples)}
}

// A Reader checks what is read for one selector.
type Reader struct {
	Selector
	maxSamples int64
}

// Series returns the memory that the engine takes for n series, in bytes, or an error if that is
// too much.
func (r Reader) Series(n int) (int64, error) {
	if r.maxSamples == 0 {
		return 0, nil
	}
	if r.replace > 0 && int64(n) > maxReplaceWork/64/r.replace {
		return 0, fmt.Errorf("%w: regular expressions of label_replace with %d parts for %d series", ErrCost, r.replace, n)
	}
	points := r.maxSamples
	if r.steps < points/max(1, int64(n)) {
		points = r.steps * int64(n)
	}
	return points*pointBytes + int64(n)*(seriesBytes+min(r.text, math.MaxInt32)), nil
}

// Work returns what reading n series over a span (milliseconds) and evaluating them costs, in units of
// package turns.
func (r Reader) Work(n int, span int64) int64 { return query.Work(n, span/60_000+r.steps) }

// Samples returns an error if a function must not get so many samples of one series.
func (r Reader) Samples(n int) error {
	if r.maxSamples == 0 || r.windows <= 1 {
		return nil
	}
	if most := storedVisitsPerSample * r.maxSamples; int64(n) > most/r.windows {
		return fmt.Errorf("%w: a function looks at %d samples of one series, each in %d windows, and --query.max-samples allows %d in all: ask for longer steps or a shorter range",
			ErrCost, n, r.windows, most)
	}
	return nil
}

// shortBytes is what a short query may take.
const shortBytes = 1 << 20

// Short reports whether a query reads no series and takes little.
func (c *Cost) Short() bool {
	return len(c.selectors) == 0 && c.most == Selector{} && c.Fixed <= shortBytes
}

type costKey struct{}

// With returns a context in which From finds the cost.
func With(ctx context.Context, c *Cost) context.Context { return context.WithValue(ctx, costKey{}, c) }

// From returns the cost of the query that ctx belongs to, nil if it has none.
func From(ctx context.Context) *Cost {
	c, _ := ctx.Value(costKey{}).(*Cost)
	return c
}
