package instantfn

import (
	"math"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/binop"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Of returns the function of that name of one vector, nil if it is not known.
func Of(name string) *operator.Mapping {
	if f := mathOf(name); f != nil {
		return each(f)
	}
	if f := histogramFunctionOf(name); f != nil {
		return ofHistograms(f)
	}
	if f := CalendarOf(name); f != nil {
		return each(func(v float64) float64 { return f(time.Unix(int64(v), 0).UTC()) })
	}
	return nil
}

// each makes a mapping of a function of one number.
func each(f func(v float64) float64) *operator.Mapping {
	return &operator.Mapping{Drops: true, Apply: func(values []float64, _ [][]float64) {
		for i, v := range values {
			if !block.IsAbsent(v) {
				values[i] = f(v)
			}
		}
	}}
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

// CalendarOf returns the part of a date that a function names, nil if it is not known.
func CalendarOf(name string) func(t time.Time) float64 {
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

// ofHistograms makes a mapping of a function of one histogram.
func ofHistograms(f func(h *histogram.FloatHistogram) float64) *operator.Mapping {
	return &operator.Mapping{Drops: true, Only: true, Histogram: func(_ int, h *histogram.FloatHistogram, _ [][]float64, _ int) binop.Result {
		return binop.Result{Operand: binop.Operand{Number: f(h)}, Keep: true}
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
