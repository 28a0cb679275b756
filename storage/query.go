package storage

import (
	"context"
	"slices"
)

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

// MayHave reports whether series of a metric may pass all of some filters.
func MayHave(filters []Filter, metric string) bool {
	for _, f := range filters {
		switch {
		case f.Keys != nil:
		case f.Values != nil:
			if !slices.Contains(f.Values, metric) {
				return false
			}
		case f.Match != nil && !f.Match(metric):
			return false
		}
	}
	return true
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
	// Histograms asks for the histograms of OpenTSDB as well.
	Histograms bool
	// MaxSamples, when above 0, makes an answer of more points and objects an ErrLimit.
	MaxSamples int
	// PartSeries, when above 0, is the greatest number of series in a Part.
	PartSeries int
	// Integers asks for the integers among the floats as well. It is slower.
	Integers bool
	// Annotations asks for the annotations in the hours that are read as well, by SelectParts.
	Annotations bool
	// Newest means that only the newest sample of each series is needed. Older ones may be left out,
	// unless the newest one is a histogram, of OpenTSDB too if these are asked for.
	Newest bool
}

// A Part is some of the series of a query, which are neighbours in its Refs.
type Part struct {
	From   int      // index of the first series in Refs
	Points []Points // one for each of the series, in order; Len is 0 if a series has no points
}

// A PartWorker takes parts of an answer in a goroutine of its own. Several workers share an answer.
type PartWorker interface {
	// Take does what does not depend on other parts, while other workers take theirs. The points
	// are valid until Commit returns. ctx contains the turn of the goroutine.
	Take(ctx context.Context, p Part) error
	// Commit is called after each Take, in the order of the parts: all earlier parts are committed,
	// and no other worker commits.
	Commit(ctx context.Context) error
}

// Points are the points of one series in ascending order of time. The slices are valid until the
// next step of the loop.
type Points struct {
	Ref     Ref
	Times   []int64 // floats: milliseconds
	Values  []float64
	Objects []Object // ascending by Time, then Kind
	// Integers are the samples that OpenTSDB holds as integers, ascending by Time, if the query asks
	// for them. Values has the nearest floats.
	Integers []Integer
	// Annotations are the documents of those in the rows that were read, whatever their time, if the
	// query asks for them: by hours, and as the table has them. A series may have no points then.
	Annotations [][]byte
	// Distance is that between all neighbouring Times, if it is known to be always the same; else 0.
	Distance int64
}

// An Integer is the exact value of a sample.
type Integer struct{ Time, Value int64 } // milliseconds

// Space sets Distance after points were appended to the first n, at such a distance from each other
// (0: not known).
func (p *Points) Space(n int, distance int64) {
	added := len(p.Times) - n
	switch {
	case added == 0:
	case n == 0 && added == 1:
		p.Distance = 0
	case n == 0:
		p.Distance = distance
	case n == 1 && added == 1:
		p.Distance = p.Times[1] - p.Times[0]
	case n == 1 && distance == p.Times[1]-p.Times[0]:
		p.Distance = distance
	case n == 1, p.Times[n]-p.Times[n-1] != p.Distance, added > 1 && distance != p.Distance:
		p.Distance = 0
	}
}

// Wants reports whether objects of a kind are asked for.
func (q *Query) Wants(k Kind) bool {
	switch k {
	case KindExemplar:
		return q.Exemplars
	case KindCoded:
		return q.Histograms
	}
	return q.Samples
}

// Len returns the number of points and objects.
func (p *Points) Len() int { return len(p.Times) + len(p.Objects) }

// Clamped returns the query with the times that can be stored.
func (q Query) Clamped() Query {
	q.Start, q.End = max(q.Start, 0), min(q.End, MaxTime)
	return q
}

// Empty reports whether a query cannot have an answer.
func (q *Query) Empty() bool { return q.Start > q.End || len(q.Refs) == 0 }
