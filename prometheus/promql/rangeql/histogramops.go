package rangeql

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
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
	notes    *annotation.Notes
}

// operands says which operands of an operation are meant: those of a pair of series, or of one series and a
// scalar, at a step.
type operands struct{ step, pair int }

// result is what an operation makes of two operands.
type result struct {
	operand
	// keep is false if a comparison does not hold, or if there is no result.
	keep bool
	// none means that there is no result.
	none bool
}

// of returns the result, with annotations where the library makes some.
func (o elementwise) of(at operands, l, r operand) result {
	switch {
	case l.histogram != nil && r.histogram != nil:
		return o.ofHistograms(at, l.histogram, r.histogram)
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
	return o.incompatible(at, l, r)
}

func kept(h *histogram.FloatHistogram) result {
	return result{operand: operand{histogram: h}, keep: true}
}

// incompatible is an operation that is not defined.
func (o elementwise) incompatible(at operands, l, r operand) result {
	o.notes.Tell(at.step, at.pair, annotations.NewIncompatibleTypesInBinOpInfo(l.kind(), parser.ItemTypeStr[o.op], r.kind(), o.position))
	return result{none: true}
}

func (o elementwise) ofHistograms(at operands, l, r *histogram.FloatHistogram) result {
	switch o.op {
	case parser.ADD:
		sum, collision, reconciled, err := l.Copy().Add(r)
		if err != nil {
			return o.failed(at, err)
		}
		return o.tell(at, sum, collision, reconciled, annotations.HistogramAdd)
	case parser.SUB:
		difference, collision, reconciled, err := l.Copy().Sub(r)
		if err != nil {
			return o.failed(at, err)
		}
		difference.CounterResetHint = histogram.GaugeType
		return o.tell(at, difference, collision, reconciled, annotations.HistogramSub)
	case parser.EQLC:
		return result{operand: operand{histogram: l}, keep: l.Equals(r)}
	case parser.NEQ:
		return result{operand: operand{histogram: l}, keep: !l.Equals(r)}
	}
	return o.incompatible(at, operand{histogram: l}, operand{histogram: r})
}

// failed is an operation of histograms whose buckets do not fit.
func (o elementwise) failed(at operands, err error) result {
	if errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
		err = annotations.NewIncompatibleBucketLayoutInBinOpWarning(parser.ItemTypeStr[o.op], o.position)
	} else {
		err = nil
	}
	o.notes.Tell(at.step, at.pair, err)
	return result{none: true}
}

// tell returns the result of an operation of two histograms, none if one was reset and the other was
// not.
func (o elementwise) tell(at operands, h *histogram.FloatHistogram, collision, reconciled bool, operation annotations.HistogramOperation) result {
	if collision {
		o.notes.Tell(at.step, at.pair, annotations.NewHistogramCounterResetCollisionWarning(o.position, operation))
		return result{none: true}
	}
	if reconciled {
		o.notes.Tell(at.step, at.pair, annotations.NewMismatchedCustomBucketsHistogramsInfo(o.position, operation))
	}
	return kept(h.Compact(0))
}
