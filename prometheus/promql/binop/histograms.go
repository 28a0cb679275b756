package binop

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
)

// An Operand is one side of a binary operation at a step: a histogram, or a number if that is nil.
type Operand struct {
	Number    float64
	Histogram *histogram.FloatHistogram
}

func (o Operand) kind() string {
	if o.Histogram != nil {
		return "histogram"
	}
	return "float"
}

// HistogramOp is a binary operation of two operands of which one is a histogram.
type HistogramOp struct {
	Op       parser.ItemType
	Position posrange.PositionRange
	Notes    *annotation.Notes
}

// At says which operands of an operation are meant: those of a pair of series, or of one series and a
// scalar, at a step.
type At struct{ Step, Pair int }

// Result is what an operation makes of two operands.
type Result struct {
	Operand
	// Keep is false if a comparison does not hold, or if there is no result.
	Keep bool
	// None means that there is no result.
	None bool
}

// Of returns the result, with annotations where the library makes some.
func (o HistogramOp) Of(at At, l, r Operand) Result {
	switch {
	case l.Histogram != nil && r.Histogram != nil:
		return o.ofHistograms(at, l.Histogram, r.Histogram)
	case l.Histogram != nil:
		h := l.Histogram
		switch o.Op {
		case parser.MUL:
			return Kept(h.Copy().Mul(r.Number).Compact(0))
		case parser.DIV:
			return Kept(h.Copy().Div(r.Number).Compact(0))
		case parser.TRIM_UPPER:
			return Kept(h.Copy().TrimBuckets(r.Number, true))
		case parser.TRIM_LOWER:
			return Kept(h.Copy().TrimBuckets(r.Number, false))
		}
	case r.Histogram != nil && o.Op == parser.MUL:
		return Kept(r.Histogram.Copy().Mul(l.Number).Compact(0))
	}
	return o.Incompatible(at, l, r)
}

// Kept is a histogram that is the result.
func Kept(h *histogram.FloatHistogram) Result {
	return Result{Operand: Operand{Histogram: h}, Keep: true}
}

// Incompatible is an operation that is not defined.
func (o HistogramOp) Incompatible(at At, l, r Operand) Result {
	o.Notes.WarnStep(at.Step, at.Pair, annotations.NewIncompatibleTypesInBinOpInfo(l.kind(), parser.ItemTypeStr[o.Op], r.kind(), o.Position))
	return Result{None: true}
}

func (o HistogramOp) ofHistograms(at At, l, r *histogram.FloatHistogram) Result {
	switch o.Op {
	case parser.ADD:
		sum, collision, reconciled, err := l.Copy().Add(r)
		if err != nil {
			return o.failed(at, err)
		}
		return o.annotated(at, sum, collision, reconciled, annotations.HistogramAdd)
	case parser.SUB:
		difference, collision, reconciled, err := l.Copy().Sub(r)
		if err != nil {
			return o.failed(at, err)
		}
		difference.CounterResetHint = histogram.GaugeType
		return o.annotated(at, difference, collision, reconciled, annotations.HistogramSub)
	case parser.EQLC:
		return Result{Operand: Operand{Histogram: l}, Keep: l.Equals(r)}
	case parser.NEQ:
		return Result{Operand: Operand{Histogram: l}, Keep: !l.Equals(r)}
	}
	return o.Incompatible(at, Operand{Histogram: l}, Operand{Histogram: r})
}

// failed is an operation of histograms whose buckets do not fit.
func (o HistogramOp) failed(at At, err error) Result {
	if errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
		err = annotations.NewIncompatibleBucketLayoutInBinOpWarning(parser.ItemTypeStr[o.Op], o.Position)
	} else {
		err = nil
	}
	o.Notes.WarnStep(at.Step, at.Pair, err)
	return Result{None: true}
}

// annotated returns the result of an operation of two histograms, none if one was reset and the other was
// not.
func (o HistogramOp) annotated(at At, h *histogram.FloatHistogram, collision, reconciled bool, operation annotations.HistogramOperation) Result {
	if collision {
		o.Notes.WarnStep(at.Step, at.Pair, annotations.NewHistogramCounterResetCollisionWarning(o.Position, operation))
		return Result{None: true}
	}
	if reconciled {
		o.Notes.WarnStep(at.Step, at.Pair, annotations.NewMismatchedCustomBucketsHistogramsInfo(o.Position, operation))
	}
	return Kept(h.Compact(0))
}
