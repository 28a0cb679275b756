package graphite

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Aggregations are the rules of carbon's storage-aggregation.conf: how the coarser archives of a name are made of the finest. Safe for
// concurrent use; nil has no rules.
type Aggregations struct{ rules *rules[aggregation] }

// ParseAggregations reads a storage-aggregation.conf as carbon does; file is its name, for errors.
func ParseAggregations(file, text string) (*Aggregations, error) {
	r, err := parseRules(file, text, parseAggregation)
	if err != nil {
		return nil, err
	}
	return &Aggregations{r}, nil
}

// Skipped are the sections that are no rules, since they lack what one needs, each with its place.
func (a *Aggregations) Skipped() []error {
	if a == nil {
		return nil
	}
	return a.rules.skipped
}

func parseAggregation(s confSection) (a aggregation, key string, err error) {
	if err := s.skipWithout("pattern"); err != nil {
		return a, "", err
	}
	a = defaultAggregation()
	if o, ok := s.options["xfilesfactor"]; ok {
		if a.xff, err = parseXFF(o.value); err != nil {
			return a, "xfilesfactor", err
		}
	}
	if o, ok := s.options["aggregationmethod"]; ok {
		if a.method, a.join = o.value, joins(o.value); a.join == nil {
			return a, "aggregationmethod", fmt.Errorf("%q is none of average, sum, last, max, min, avg_zero, absmax and absmin", o.value)
		}
	}
	return a, "", nil
}

func parseXFF(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || strings.ContainsAny(text, "xX_"): // which Go would take
		return 0, &skippedError{fmt.Sprintf("xFilesFactor %q is no number", text)}
	case !(f >= 0 && f <= 1):
		return 0, fmt.Errorf("%s is not between 0 and 1", text)
	}
	return storedXFF(f), nil
}

// of returns how a name is consolidated.
func (a *Aggregations) of(name string) aggregation {
	if a != nil {
		if v, ok := a.rules.of(name); ok {
			return v
		}
	}
	return defaultAggregation()
}

// An aggregation makes one slot of a coarser archive of several slots of a finer one.
type aggregation struct {
	method string
	// xff is the part of the finer slots that must have points.
	xff float64
	// join gets the slots that have points, and how many there are in all.
	join func(known []float64, slots int) float64
}

// defaultAggregation is whisper's for files that no rule is about.
func defaultAggregation() aggregation {
	return aggregation{method: "average", xff: 0.5, join: joins("average")}
}

// storedXFF is the factor as whisper's header has it, in 32 bits: of 0.3, which becomes 0.30000001, three slots of ten are too few.
func storedXFF(f float64) float64 { return float64(float32(f)) }

// slot consolidates finer slots as whisper.__propagate does.
func (a aggregation) slot(known []float64, slots int) (v float64, ok bool) {
	if len(known) == 0 || float64(len(known))/float64(slots) < a.xff {
		return 0, false
	}
	return a.join(known, slots), true
}

// joins is whisper.aggregate, by name; nil for a name that it does not know. avg is short for average in other carbons.
func joins(method string) func(known []float64, slots int) float64 {
	switch method {
	case "average", "avg":
		return func(known []float64, _ int) float64 { return sumOf(known) / float64(len(known)) }
	case "sum":
		return func(known []float64, _ int) float64 { return sumOf(known) }
	case "last":
		return func(known []float64, _ int) float64 { return known[len(known)-1] }
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
