package rangeql

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// nameCheck finds out whether some series may differ only in the labels that are dropped with the
// name of the metric. That is impossible while all series have the same name.
type nameCheck struct {
	last          [3]string
	seen, several bool
}

// see records a series and returns its name.
func (c *nameCheck) see(ls labels.Labels) string {
	now := [3]string{ls.Get(model.MetricNameLabel), ls.Get(model.MetricTypeLabel), ls.Get(model.MetricUnitLabel)}
	c.several = c.several || c.seen && now != c.last
	c.last, c.seen = now, true
	return now[0]
}

// severalNames reports whether some series of a block may differ only in what goes with the name.
func severalNames(b *block.Block) bool {
	var names nameCheck
	for i := range b.Series {
		names.see(b.Series[i].Labels)
	}
	return names.several
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
