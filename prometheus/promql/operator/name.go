package operator

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// NameCheck finds out whether some series may differ only in the labels that are dropped with the
// name of the metric. That is impossible while all series have the same name.
type NameCheck struct {
	last          [3]string
	seen, Several bool
}

// See records a series and returns its name.
func (c *NameCheck) See(ls labels.Labels) string {
	now := [3]string{ls.Get(model.MetricNameLabel), ls.Get(model.MetricTypeLabel), ls.Get(model.MetricUnitLabel)}
	c.Several = c.Several || c.seen && now != c.last
	c.last, c.seen = now, true
	return now[0]
}

// SeveralNames reports whether some series of a block may differ only in what goes with the name.
func SeveralNames(b *block.Block) bool {
	var names NameCheck
	for i := range b.Series {
		names.See(b.Series[i].Labels)
	}
	return names.Several
}

// namedAsCounter reports whether a name has a suffix of counters.
func namedAsCounter(name string) bool {
	for _, end := range [...]string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
