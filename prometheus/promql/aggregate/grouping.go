package aggregate

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Grouping is the by or without of an aggregation.
type Grouping struct {
	names   []string // sorted
	without bool
	// metadata means that keys depend on the labels that go with the name of the metric.
	metadata bool

	byKey  map[uint64]int
	buffer []byte
}

// NewGrouping returns the grouping of an aggregation, by more labels than it names.
func NewGrouping(a *parser.AggregateExpr, more ...string) *Grouping {
	g := &Grouping{names: append(slices.Clone(a.Grouping), more...), without: a.Without, byKey: map[uint64]int{}}
	slices.Sort(g.names)
	g.metadata = g.without || slices.ContainsFunc(g.names, operator.IsMetadata)
	return g
}

// of returns the number of a series' group, and whether it is new. Numbers ascend from 0. Like the
// library, it treats label sets with the same hash as equal. named is as in sink.
func (g *Grouping) of(ls labels.Labels, named bool) (number int, isNew bool) {
	if named && g.metadata {
		ls = ls.DropReserved(operator.IsMetadata)
	}
	var key uint64
	switch {
	case g.without:
		key, g.buffer = ls.HashWithoutLabels(g.buffer, g.names...)
	case len(g.names) > 0:
		key, g.buffer = ls.HashForLabels(g.buffer, g.names...)
	}
	number, ok := g.byKey[key]
	if !ok {
		number = len(g.byKey)
		g.byKey[key] = number
	}
	return number, !ok
}

// labelsOf returns the labels of a series' group.
func (g *Grouping) labelsOf(ls labels.Labels, named bool) labels.Labels {
	if !g.without && len(g.names) == 0 {
		return labels.EmptyLabels()
	}
	if named {
		ls = ls.DropReserved(operator.IsMetadata)
	}
	b := labels.NewBuilder(ls)
	if g.without {
		b.Del(g.names...)
		b.Del(model.MetricNameLabel)
	} else {
		b.Keep(g.names...)
	}
	return b.Labels()
}
