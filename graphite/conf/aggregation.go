package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Aggregations are the rules of carbon's storage-aggregation.conf: how the coarser archives of a
// name are made of the finest one. They are safe for concurrent use. A nil *Aggregations has no
// rules.
type Aggregations struct{ rules *rules[Aggregation] }

// ParseAggregations reads a storage-aggregation.conf as carbon does; file is its name, for errors.
func ParseAggregations(file, text string) (*Aggregations, error) {
	r, err := parseRules(file, text, parseAggregation)
	if err != nil {
		return nil, err
	}
	return &Aggregations{r}, nil
}

// Skipped returns an error for each section that is not a rule because a key is missing. Each error
// names the place.
func (a *Aggregations) Skipped() []error {
	if a == nil {
		return nil
	}
	return a.rules.skipped
}

func parseAggregation(s section) (a Aggregation, key string, err error) {
	if err := s.skipWithout("pattern"); err != nil {
		return a, "", err
	}
	a = defaultAggregation()
	if o, ok := s.options["xfilesfactor"]; ok {
		if a.XFF, err = parseXFF(o.value); err != nil {
			return a, "xfilesfactor", err
		}
	}
	if o, ok := s.options["aggregationmethod"]; ok {
		if a.Method, a.join = o.value, joins(o.value); a.join == nil {
			return a, "aggregationmethod", fmt.Errorf("%q is none of average, sum, last, max, min, avg_zero, absmax and absmin", o.value)
		}
	}
	return a, "", nil
}

func parseXFF(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || strings.ContainsAny(text, "xX_"): // which Go accepts
		return 0, &skippedError{fmt.Sprintf("xFilesFactor %q is no number", text)}
	case !(f >= 0 && f <= 1):
		return 0, fmt.Errorf("%s is not between 0 and 1", text)
	}
	return storedXFF(f), nil
}

// Of returns how a name is consolidated.
func (a *Aggregations) Of(name string) Aggregation {
	if a != nil {
		if v, ok := a.rules.of(name); ok {
			return v
		}
	}
	return defaultAggregation()
}

// An Aggregation makes one slot of a coarser archive of several slots of a finer one.
type Aggregation struct {
	Method string
	XFF    float64 // the part of the finer slots that must have points
	// join receives the values of the slots that have points, and the number of all slots.
	join func(known []float64, slots int) float64
}

// NewAggregation returns the one of a method and of an xFilesFactor, as a whisper file has them.
func NewAggregation(method, xff string) (a Aggregation, err error) {
	if a.XFF, err = parseXFF(xff); err != nil {
		return a, err
	}
	if a.Method, a.join = method, joins(method); a.join == nil {
		return a, fmt.Errorf("%q is no aggregation method", method)
	}
	return a, nil
}

// defaultAggregation returns what whisper uses for names that no rule matches.
func defaultAggregation() Aggregation {
	return Aggregation{Method: "average", XFF: 0.5, join: joins("average")}
}

// storedXFF returns the factor as whisper's header stores it, in 32 bits. 0.3 becomes 0.30000001,
// so three slots of ten are too few.
func storedXFF(f float64) float64 { return float64(float32(f)) }

// Slot consolidates finer slots as whisper.__propagate does.
func (a Aggregation) Slot(known []float64, slots int) (v float64, ok bool) {
	if len(known) == 0 || float64(len(known))/float64(slots) < a.XFF {
		return 0, false
	}
	return a.join(known, slots), true
}

// joins is whisper.aggregate by name, nil for an unknown name. Other implementations of carbon
// write avg for average.
func joins(method string) func(known []float64, slots int) float64 {
	switch method {
	case "average", "avg":
		return func(known []float64, _ int) float64 { return sumOf(known) / float64(len(known)) }
	case "sum":
		return func(known []float64, _ int) float64 { return sumOf(known) }
	case "last":
		return func(known []float64, _ int) float64 { return known[len(known)-1] }
	case "first": // go-carbon's
		return func(known []float64, _ int) float64 { return known[0] }
	case "avg_zero":
		return func(known []float64, slots int) float64 { return sumOf(known) / float64(slots) }
	case "max":
		return bestOf(func(v, best float64) bool { return v > best })
	case "min":
		return bestOf(func(v, best float64) bool { return v < best })
	case "absmax":
		return bestOf(func(v, best float64) bool { return math.Abs(v) > math.Abs(best) })
	case "absmin":
		return bestOf(func(v, best float64) bool { return math.Abs(v) < math.Abs(best) })
	}
	return nil
}

func sumOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}

// bestOf returns the first value that no other one is better than.
func bestOf(better func(v, best float64) bool) func(known []float64, slots int) float64 {
	return func(known []float64, _ int) float64 {
		best := known[0]
		for _, v := range known[1:] {
			if better(v, best) {
				best = v
			}
		}
		return best
	}
}
