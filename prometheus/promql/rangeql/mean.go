package rangeql

import (
	"math"

	"github.com/prometheus/prometheus/util/kahansum"
)

// mean is an average that becomes incremental when the sum would overflow.
type mean struct {
	sum, c, count float64
	mean          float64 // once incremental
	incremental   bool
}

func (m *mean) add(v float64) {
	m.count++
	if !m.incremental {
		sum, c := kahansum.Inc(v, m.sum, m.c)
		if !math.IsInf(sum, 0) {
			m.sum, m.c = sum, c
			return
		}
		m.incremental = true
		m.mean = m.sum / (m.count - 1)
		m.c /= m.count - 1
	}
	q := (m.count - 1) / m.count
	m.mean, m.c = kahansum.Inc(v/m.count, q*m.mean, q*m.c)
}

func (m *mean) value() float64 {
	if m.incremental {
		return m.mean + m.c
	}
	return m.sum/m.count + m.c/m.count
}
