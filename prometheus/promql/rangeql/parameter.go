package rangeql

import "math"

// parameter is the value of an aggregation's parameter at each step.
type parameter struct {
	steps       []float64
	least, most float64
	anyNaN      bool
}

// parameter evaluates the parameter of an aggregation. It is valid until the query ends.
func (e *evaluation) parameter(n *node) (parameter, error) {
	_, values, err := n.values(e)
	p := parameter{steps: values, least: math.MaxFloat64, most: -math.MaxFloat64}
	for _, v := range values {
		p.most = math.Max(p.most, v)
		p.least = math.Min(p.least, v)
		p.anyNaN = p.anyNaN || math.IsNaN(v)
	}
	return p, err
}
