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
// may be called by several goroutines at once.
func (p *Plan) Member(s Span) (Span, error) {
	if p.Downsampling != nil {
		var err error
		if s, err = p.Downsampling.apply(s, p.Range); err != nil {
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
	var out Span
	for i, t := range all.Times {
		switch {
		case t < p.Range.Start || t > p.Range.End:
		case all.isLong(i):
			out.AddLong(t, all.Longs[i])
		case isInfinite(all.Values[i]):
			return Span{}, fmt.Errorf("%w: %s", ErrInfinite, javaInfinity(all.Values[i]))
		default:
			out.Add(t, all.Values[i])
		}
	}
	return out, nil
}

func isInfinite(v float64) bool { return v-v != 0 && v == v }

func javaInfinity(v float64) string {
	if v < 0 {
		return "-Infinity"
	}
	return "Infinity"
}
