package operator

import "math"

// Parameter is the value of an aggregation's parameter at each step.
type Parameter struct {
	Steps       []float64
	Least, Most float64
	AnyNaN      bool
}

// Parameter evaluates the parameter of an aggregation. It is valid until the query ends.
func (e *Evaluation) Parameter(n *Node) (Parameter, error) {
	_, values, err := n.Values(e)
	p := Parameter{Steps: values, Least: math.MaxFloat64, Most: -math.MaxFloat64}
	for _, v := range values {
		p.Most = math.Max(p.Most, v)
		p.Least = math.Min(p.Least, v)
		p.AnyNaN = p.AnyNaN || math.IsNaN(v)
	}
	return p, err
}
