package rangeql

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// A mapping computes the values of a series from those of another, step by step.
type mapping struct {
	// apply changes the values of consecutive steps in place. args[i][0] is the value of the i-th
	// argument at the first of them.
	apply func(values []float64, args [][]float64)
	// histogram returns what becomes of a histogram, args[i][step] being the value of the i-th
	// argument; nil: histograms are left out.
	histogram func(e *evaluation, h *histogram.FloatHistogram, args [][]float64, step int) result
	// only means that numbers are left out. refused, if set, records that there were some.
	only    bool
	refused func(e *evaluation)
	args    []*node // scalars
	// drops means that the name of the metric is dropped.
	drops bool

	constants [][]float64 // the values of args, of a mapping in a leaf
}

// mapped is a mapping of the series of a node.
type mapped struct {
	*mapping
	input *node
}

func (m mapped) inputs() []*node { return append([]*node{m.input}, m.args...) }

func (m mapped) eval(e *evaluation) (*block, error) {
	in, err := m.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	args := make([][]float64, len(m.args))
	for i, a := range m.args {
		ab, values, err := a.values(e)
		if err != nil {
			return nil, err
		}
		defer e.release(ab)
		args[i] = values
	}
	b := e.newBlock(in.grid)
	b.series = make([]series, len(in.series))
	err = e.inParallel(b, len(in.series), len(in.series)*in.steps, func(l *lane, i int) error {
		s := in.series[i]
		if m.drops {
			s.labels, s.dropName = e.withoutName(s.labels), true
		}
		values, err := l.memory.take(len(s.values))
		if err != nil {
			return err
		}
		copy(values, s.values)
		s.values, s.hists = values, slices.Clone(s.hists)
		m.all(e, &s, args)
		s.trim()
		b.series[i] = s
		return nil
	})
	if err == nil {
		err = e.seal(b)
	}
	if err == nil && m.drops {
		err = e.distinct(in, b)
	}
	return b, err
}

// all maps a series in place.
func (m *mapping) all(e *evaluation, s *series, args [][]float64) {
	switch {
	case m.only:
		if m.refused != nil && countPresent(s.values) > 0 {
			m.refused(e)
		}
		fill(s.values, absent)
	case len(args) > 0 && s.from > 0:
		at := make([][]float64, len(args))
		for k := range args {
			at[k] = args[k][s.from:]
		}
		m.apply(s.values, at)
	default:
		m.apply(s.values, args)
	}
	if s.hists == nil {
		return
	}
	for i, h := range s.hists {
		s.hists[i] = nil
		if h == nil || m.histogram == nil {
			continue
		}
		switch r := m.histogram(e, h, args, s.from+i); {
		case r.none || !r.keep:
		case r.histogram != nil:
			s.hists[i] = r.histogram
		default:
			s.values[i] = r.number
		}
	}
}

// distinct returns ErrHandOver if series have the same labels since names were dropped. The library
// joins such series where they do not overlap.
func (e *evaluation) distinct(before, after *block) error {
	if e.delayed {
		return nil
	}
	var names nameCheck
	for i := range before.series {
		names.see(before.series[i].labels)
	}
	if !names.several {
		return nil
	}
	return distinct(len(after.series), func(i int) labels.Labels { return after.series[i].labels })
}

// each makes a mapping of a function of one number.
func each(f func(v float64) float64) *mapping {
	return &mapping{drops: true, apply: func(values []float64, _ [][]float64) {
		for i, v := range values {
			if !isAbsent(v) {
				values[i] = f(v)
			}
		}
	}}
}

// mappingOf returns the function of that name of one vector, nil if it is not known.
func mappingOf(name string) *mapping {
	if f := mathOf(name); f != nil {
		return each(f)
	}
	if f := histogramFunctionOf(name); f != nil {
		return ofHistograms(f)
	}
	if f := calendarOf(name); f != nil {
		return each(func(v float64) float64 { return f(time.Unix(int64(v), 0).UTC()) })
	}
	return nil
}

// mathOf returns the function of that name of one number, nil if it is not known.
func mathOf(name string) func(float64) float64 {
	switch name {
	case "abs":
		return math.Abs
	case "ceil":
		return math.Ceil
	case "floor":
		return math.Floor
	case "exp":
		return math.Exp
	case "sqrt":
		return math.Sqrt
	case "ln":
		return math.Log
	case "log2":
		return math.Log2
	case "log10":
		return math.Log10
	case "sin":
		return math.Sin
	case "cos":
		return math.Cos
	case "tan":
		return math.Tan
	case "asin":
		return math.Asin
	case "acos":
		return math.Acos
	case "atan":
		return math.Atan
	case "sinh":
		return math.Sinh
	case "cosh":
		return math.Cosh
	case "tanh":
		return math.Tanh
	case "asinh":
		return math.Asinh
	case "acosh":
		return math.Acosh
	case "atanh":
		return math.Atanh
	case "rad":
		return func(v float64) float64 { return v * math.Pi / 180 }
	case "deg":
		return func(v float64) float64 { return v * 180 / math.Pi }
	case "sgn":
		return sign
	}
	return nil
}

func sign(v float64) float64 {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return v
}

// calendarOf returns the part of a date that a function names, nil if it is not known.
func calendarOf(name string) func(t time.Time) float64 {
	switch name {
	case "days_in_month":
		return func(t time.Time) float64 {
			return float64(32 - time.Date(t.Year(), t.Month(), 32, 0, 0, 0, 0, time.UTC).Day())
		}
	case "day_of_month":
		return func(t time.Time) float64 { return float64(t.Day()) }
	case "day_of_week":
		return func(t time.Time) float64 { return float64(t.Weekday()) }
	case "day_of_year":
		return func(t time.Time) float64 { return float64(t.YearDay()) }
	case "hour":
		return func(t time.Time) float64 { return float64(t.Hour()) }
	case "minute":
		return func(t time.Time) float64 { return float64(t.Minute()) }
	case "month":
		return func(t time.Time) float64 { return float64(t.Month()) }
	case "year":
		return func(t time.Time) float64 { return float64(t.Year()) }
	}
	return nil
}

// negate is the unary minus.
func negate() *mapping {
	m := each(func(v float64) float64 { return -v })
	m.histogram = func(_ *evaluation, h *histogram.FloatHistogram, _ [][]float64, _ int) result {
		return kept(h.Copy().Mul(-1))
	}
	return m
}

// ofHistograms makes a mapping of a function of one histogram.
func ofHistograms(f func(h *histogram.FloatHistogram) float64) *mapping {
	return &mapping{drops: true, only: true, histogram: func(_ *evaluation, h *histogram.FloatHistogram, _ [][]float64, _ int) result {
		return result{operand: operand{number: f(h)}, keep: true}
	}}
}

// histogramFunctionOf returns the function of that name of one histogram, nil if it is not known.
func histogramFunctionOf(name string) func(h *histogram.FloatHistogram) float64 {
	switch name {
	case "histogram_count":
		return func(h *histogram.FloatHistogram) float64 { return h.Count }
	case "histogram_sum":
		return func(h *histogram.FloatHistogram) float64 { return h.Sum }
	case "histogram_avg":
		return func(h *histogram.FloatHistogram) float64 { return h.Sum / h.Count }
	case "histogram_stddev", "histogram_stdvar":
		call := promql.FunctionCalls[name]
		return func(h *histogram.FloatHistogram) float64 {
			v, _ := call([]promql.Vector{{promql.Sample{H: h}}}, nil, nil, &promql.EvalNodeHelper{})
			return v[0].F
		}
	}
	return nil
}

// round has the number as argument to whose multiples it rounds, if it is given.
func round(args []*node) *mapping {
	return &mapping{drops: true, args: args, apply: func(values []float64, args [][]float64) {
		inverse := 1.0
		for i, v := range values {
			if len(args) > 0 {
				inverse = 1 / args[0][i]
			}
			if !isAbsent(v) {
				values[i] = math.Floor(v*inverse+0.5) / inverse
			}
		}
	}}
}

// clamp has the least value, the greatest, or both as arguments.
func clamp(name string, args []*node) *mapping {
	return &mapping{drops: true, args: args, apply: func(values []float64, args [][]float64) {
		least, most := math.Inf(-1), math.Inf(1)
		for i, v := range values {
			switch name {
			case "clamp_min":
				least = args[0][i]
			case "clamp_max":
				most = args[0][i]
			default:
				least, most = args[0][i], args[1][i]
			}
			switch {
			case isAbsent(v):
			case most < least:
				values[i] = absent
			default:
				values[i] = math.Max(least, math.Min(most, v))
			}
		}
	}}
}

// withScalar is a binary operation of a vector and a scalar. It returns nil for operators that it
// does not know.
func withScalar(e *parser.BinaryExpr, scalar *node, scalarLeft bool) *mapping {
	op, asBool := e.Op, e.ReturnBool
	m := &mapping{args: []*node{scalar}, drops: asBool || !op.IsComparisonOperator()}
	o := elementwise{op, e.PositionRange()}
	m.histogram = func(e *evaluation, h *histogram.FloatHistogram, args [][]float64, step int) result {
		l, r := operand{histogram: h}, operand{number: args[0][step]}
		if scalarLeft {
			l, r = r, l
		}
		return o.of(e, l, r)
	}
	switch compare, calculate := comparison(op), arithmetic(op); {
	case compare != nil:
		m.apply = func(values []float64, args [][]float64) {
			compareWith(compare, values, args[0], scalarLeft, asBool)
		}
	case calculate != nil:
		m.apply = func(values []float64, args [][]float64) {
			calculateWith(op, calculate, values, args[0], scalarLeft)
		}
	case op == parser.TRIM_LOWER || op == parser.TRIM_UPPER:
		m.only, m.drops = true, false
		m.refused = func(e *evaluation) { o.incompatible(e, operand{}, operand{}) }
	default:
		return nil
	}
	return m
}

func compareWith(compare func(l, r float64) bool, values, scalars []float64, scalarLeft, asBool bool) {
	for i, v := range values {
		if isAbsent(v) {
			continue
		}
		l, r := v, scalars[i]
		if scalarLeft {
			l, r = r, l
		}
		switch holds := compare(l, r); {
		case asBool:
			values[i] = oneOrZero(holds)
		case !holds:
			values[i] = absent
		}
	}
}

func calculateWith(op parser.ItemType, calculate func(l, r float64) float64, values, scalars []float64, scalarLeft bool) {
	scalars = scalars[:len(values)]
	switch {
	case op == parser.MUL:
		for i, v := range values {
			if product := v * scalars[i]; product == product || !isAbsent(v) {
				values[i] = product
			}
		}
	case op == parser.DIV && !scalarLeft:
		for i, v := range values {
			if quotient := v / scalars[i]; quotient == quotient || !isAbsent(v) {
				values[i] = quotient
			}
		}
	case scalarLeft:
		for i, v := range values {
			if !isAbsent(v) {
				values[i] = calculate(scalars[i], v)
			}
		}
	default:
		for i, v := range values {
			if !isAbsent(v) {
				values[i] = calculate(v, scalars[i])
			}
		}
	}
}

// stamp is timestamp(v) of an expression: the time of the step where it has a value.
func stamp(now *node) *mapping {
	return &mapping{drops: true, args: []*node{now}, apply: func(values []float64, args [][]float64) {
		for i, v := range values {
			if !isAbsent(v) {
				values[i] = args[0][i]
			}
		}
	}, histogram: func(_ *evaluation, _ *histogram.FloatHistogram, args [][]float64, step int) result {
		return result{operand: operand{number: args[0][step]}, keep: true}
	}}
}
