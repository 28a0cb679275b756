package join

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// signatures numbers the label sets that have to agree for two series to match.
type signatures struct {
	names   []string // sorted
	on      bool
	numbers map[string]int
	buffer  []byte
}

func newSignatures(m *parser.VectorMatching) *signatures {
	s := &signatures{names: slices.Clone(m.MatchingLabels), on: m.On, numbers: map[string]int{}}
	if !s.on {
		s.names = append(s.names, model.MetricNameLabel)
	}
	slices.Sort(s.names)
	return s
}

// of returns the number of a series' signature. Numbers ascend from 0.
func (s *signatures) of(ls labels.Labels) int {
	if s.on {
		s.buffer = ls.BytesWithLabels(s.buffer, s.names...)
	} else {
		s.buffer = ls.BytesWithoutLabels(s.buffer, s.names...)
	}
	number, ok := s.numbers[string(s.buffer)]
	if !ok {
		number = len(s.numbers)
		s.numbers[string(s.buffer)] = number
	}
	return number
}

// all returns the signature of each series of a block.
func (s *signatures) all(b *block.Block) []int {
	numbers := make([]int, len(b.Series))
	for i := range b.Series {
		numbers[i] = s.of(b.Series[i].Labels)
	}
	return numbers
}

// resultLabels returns the labels of what an operation makes of two series that match. In
// many-to-one matching, many is the side with more series.
func resultLabels(b *labels.Builder, many, one labels.Labels, m *parser.VectorMatching, dropsName bool) labels.Labels {
	b.Reset(many)
	if dropsName {
		schema.Metadata{}.SetToLabels(b)
	}
	if m.Card == parser.CardOneToOne {
		if m.On {
			b.Keep(m.MatchingLabels...)
		} else {
			b.Del(m.MatchingLabels...)
		}
	}
	for _, name := range m.Include {
		if v := one.Get(name); v != "" {
			b.Set(name, v)
		} else {
			b.Del(name)
		}
	}
	return b.Labels()
}
