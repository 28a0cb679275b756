package aggregate

import "fmt"

// A Plan is what is computed of the series of a query.
type Plan struct {
	Range        Range
	Downsampling *Downsampling // nil: none
	Rate         *RateOptions  // nil: none
	Aggregator   Aggregator
}

// Member computes what concerns one series alone, of its points of the range that is scanned. It
// may be called by several goroutines at once, each with a Room of its own or with nil.
func (p *Plan) Member(s Span, room *Room) (Span, error) {
	if p.Downsampling != nil {
		var err error
		if s, err = p.Downsampling.apply(s, p.Range, room); err != nil {
			return Span{}, err
		}
	}
	if p.Rate != nil {
		s = p.Rate.rate(s)
	}
	return s, nil
}

// Group returns an empty group.
func (p *Plan) Group() *Group {
	return &Group{Aggregator: p.Aggregator, Rate: p.Rate != nil, Start: p.Range.ScanStart, End: p.Range.ScanEnd}
}

// Result returns the points of a group from the start of the query to its end. One that is
// infinite is an ErrInfinite. pause is called from time to time; its error ends the computation.
func (p *Plan) Result(g *Group, pause func() error) (Span, error) {
	all, err := g.Result(pause)
	if err != nil {
		return Span{}, err
	}
	return all.Within(p.Range.Start, p.Range.End).finite()
}

// Whole returns the points of a group in the whole range that is scanned, which is what expressions
// compute with.
func (p *Plan) Whole(g *Group, pause func() error) (Span, error) {
	all, err := g.Result(pause)
	if err != nil {
		return Span{}, err
	}
	return all.finite()
}

// finite returns the points, or an ErrInfinite if one of them is infinite.
func (s Span) finite() (Span, error) {
	for i, v := range s.Values {
		if isInfinite(v) && !s.isLong(i) {
			return Span{}, fmt.Errorf("%w: %s", ErrInfinite, javaInfinity(v))
		}
	}
	return s, nil
}

func isInfinite(v float64) bool { return v-v != 0 && v == v }

func javaInfinity(v float64) string {
	if v < 0 {
		return "-Infinity"
	}
	return "Infinity"
}
