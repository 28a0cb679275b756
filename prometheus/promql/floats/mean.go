package floats

import (
	"math"

	"github.com/prometheus/prometheus/util/kahansum"
)

// Mean is an average that becomes incremental when the sum would overflow.
type Mean struct {
	Sum, Rest, Count float64
	mean             float64 // once incremental
	Incremental      bool
}

// Add takes a further value.
func (m *Mean) Add(v float64) {
	m.Count++
	if !m.Incremental {
		sum, c := kahansum.Inc(v, m.Sum, m.Rest)
		if !math.IsInf(sum, 0) {
			m.Sum, m.Rest = sum, c
			return
		}
		m.Incremental = true
		m.mean = m.Sum / (m.Count - 1)
		m.Rest /= m.Count - 1
	}
	q := (m.Count - 1) / m.Count
	m.mean, m.Rest = kahansum.Inc(v/m.Count, q*m.mean, q*m.Rest)
}

// Value returns the mean of the values so far.
func (m *Mean) Value() float64 {
	if m.Incremental {
		return m.mean + m.Rest
	}
	return m.Sum/m.Count + m.Rest/m.Count
}
