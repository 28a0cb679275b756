package rangeql

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
)

// An operand is one side of a binary operation at a step: a histogram, or a number if that is nil.
type operand struct {
	number    float64
	histogram *histogram.FloatHistogram
}

func (o operand) kind() string {
	if o.histogram != nil {
		return "histogram"
	}
	return "float"
}

// elementwise is a binary operation of two operands of which one is a histogram.
type elementwise struct {
	op       parser.ItemType
	position posrange.PositionRange
}

// result is what an operation makes of two operands.
type result struct {
	operand
	// keep is false if a comparison does not hold, or if there is no result.
	keep bool
	// none means that there is no result.
	none bool
}

// of returns the result, with annotations where the library makes some.
func (o elementwise) of(e *evaluation, l, r operand) result {
	switch {
	case l.histogram != nil && r.histogram != nil:
		return o.ofHistograms(e, l.histogram, r.histogram)
	case l.histogram != nil:
		h := l.histogram
		switch o.op {
		case parser.MUL:
			return kept(h.Copy().Mul(r.number).Compact(0))
		case parser.DIV:
			return kept(h.Copy().Div(r.number).Compact(0))
		case parser.TRIM_UPPER:
			return kept(h.Copy().TrimBuckets(r.number, true))
		case parser.TRIM_LOWER:
			return kept(h.Copy().TrimBuckets(r.number, false))
		}
	case r.histogram != nil && o.op == parser.MUL:
		return kept(r.histogram.Copy().Mul(l.number).Compact(0))
	}
	return o.incompatible(e, l, r)
}

func kept(h *histogram.FloatHistogram) result {
	return result{operand: operand{histogram: h}, keep: true}
}

// incompatible is an operation that is not defined.
func (o elementwise) incompatible(e *evaluation, l, r operand) result {
	e.warn(annotations.NewIncompatibleTypesInBinOpInfo(l.kind(), parser.ItemTypeStr[o.op], r.kind(), o.position))
	return result{none: true}
}

func (o elementwise) ofHistograms(e *evaluation, l, r *histogram.FloatHistogram) result {
	switch o.op {
	case parser.ADD:
		sum, collision, reconciled, err := l.Copy().Add(r)
		if err != nil {
			return o.failed(e, err)
		}
		return o.noted(e, sum, collision, reconciled, annotations.HistogramAdd)
	case parser.SUB:
		difference, collision, reconciled, err := l.Copy().Sub(r)
		if err != nil {
			return o.failed(e, err)
		}
		difference.CounterResetHint = histogram.GaugeType
		return o.noted(e, difference, collision, reconciled, annotations.HistogramSub)
	case parser.EQLC:
		return result{operand: operand{histogram: l}, keep: l.Equals(r)}
	case parser.NEQ:
		return result{operand: operand{histogram: l}, keep: !l.Equals(r)}
	}
	return o.incompatible(e, operand{histogram: l}, operand{histogram: r})
}

// failed is an operation of histograms whose buckets do not fit.
func (o elementwise) failed(e *evaluation, err error) result {
	if errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
		e.warn(annotations.NewIncompatibleBucketLayoutInBinOpWarning(parser.ItemTypeStr[o.op], o.position))
	}
	return result{none: true}
}

// noted is the result of an operation of two histograms, none if one was reset and the other was
// not.
func (o elementwise) noted(e *evaluation, h *histogram.FloatHistogram, collision, reconciled bool, operation annotations.HistogramOperation) result {
	if collision {
		e.warn(annotations.NewHistogramCounterResetCollisionWarning(o.position, operation))
		return result{none: true}
	}
	if reconciled {
		e.warn(annotations.NewMismatchedCustomBucketsHistogramsInfo(o.position, operation))
	}
	return kept(h.Compact(0))
}
