package rangeql

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// nameCheck finds out whether series that differ only in the labels that go with the name of the
// metric can be among those it sees: not as long as all of them have the same.
type nameCheck struct {
	last          [3]string
	seen, several bool
}

// see looks at a series and says whether its name is another than that of the one before.
func (c *nameCheck) see(ls labels.Labels) (name string, changed bool) {
	now := [3]string{ls.Get(labels.MetricName), ls.Get(model.MetricTypeLabel), ls.Get(model.MetricUnitLabel)}
	changed = !c.seen || now[0] != c.last[0]
	c.several = c.several || c.seen && now != c.last
	c.last, c.seen = now, true
	return now[0], changed
}

// namedAsCounter says whether a name ends as those of counters do.
func namedAsCounter(name string) bool {
	for _, end := range [...]string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
