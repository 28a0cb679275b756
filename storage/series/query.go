package series

// A Filter restricts one tag, or the metric when Keys is nil. It passes a series that has one of
// Keys with a value in Values, or, when Values is nil, one that Match accepts (Match nil: any
// value); a series that has none of Keys passes if Absent; and one that has any tag of Or passes
// whatever its value is.
type Filter struct {
	Keys   []string
	Values []string
	Match  func(value string) bool
	Absent bool
	Or     []string
}

// Found is a series that a Find returned.
type Found struct {
	Ref Ref
	Series
}

// A Query asks for the points of series, in the order of Refs, with Start <= time <= End
// (milliseconds).
type Query struct {
	Refs       []Ref
	Start, End int64
	// What to read; objects of other kinds are skipped. Samples are floats, histograms and start
	// times.
	Samples, Exemplars bool
	// MaxSamples, when above 0, makes an answer of more points and objects an ErrLimit.
	MaxSamples int
}

// Points are the points of one series in ascending order of time. The slices are valid until the
// next step of the loop.
type Points struct {
	Ref     Ref
	Times   []int64 // floats: milliseconds
	Values  []float64
	Objects []Object // ascending by Time, then Kind
}

// Wants reports whether objects of a kind are asked for.
func (q *Query) Wants(k Kind) bool {
	if k == KindExemplar {
		return q.Exemplars
	}
	return q.Samples
}

// Len returns the number of points and objects.
func (p *Points) Len() int { return len(p.Times) + len(p.Objects) }
