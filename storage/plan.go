package storage

import (
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The ways to read rows, as they are named in the metrics.
const (
	planGet  = "get"  // row by row, by key
	planScan = "scan" // a range of the metric, the engine skipping other series
)

const (
	// getCost is the cost of a row read by its key, in rows read by a scan: 30 µs against 4 µs on HBase 2.6 (reference
	// measurement: multi-get of 200 rows 5-8 ms, range scan of 200 000 rows 0.8 s), and about as much on the local engine.
	getCost = 6
	// maxGetHours is how many row keys a series may be asked for by key; beyond, most of them would not exist.
	maxGetHours = 1024
	// groupSamples is how many samples a scan may gather before it can give the first series: its rows come hour by hour.
	groupSamples = 4 << 20
	// fewestSeries is the size of the smallest group, however long the range: each scan goes over the rows of all others.
	fewestSeries = 8
	// densestInterval is the sample interval, in milliseconds, that the size of a group is reckoned with.
	densestInterval = 10_000
)

// A group is a run of the query's series that is read in one way.
type group struct {
	refs []Ref
	scan bool
	// of a scan: the metric all of refs belong to
	metric string
}

// plan cuts the series of a query into groups, in their order.
func (s *Store) plan(q Query) []group {
	hours := int64(schema.Base(q.End)-schema.Base(q.Start))/schema.RowSeconds + 1
	perSeries := max((q.End-q.Start)/densestInterval, 1)
	limit := int(max(groupSamples/perSeries, fewestSeries))
	var groups []group
	for i := 0; i < len(q.Refs); {
		metric := s.metricOf(q.Refs[i])
		j := i + 1
		for j < len(q.Refs) && j-i < limit && s.metricOf(q.Refs[j]) == metric {
			j++
		}
		scan := hours > maxGetHours || int64(j-i)*getCost > int64(s.index.MetricSeries(metric)) && j-i > 8
		if n := len(groups); n > 0 && !scan && !groups[n-1].scan {
			groups[n-1].refs = q.Refs[i-len(groups[n-1].refs) : j] // reads by key follow one another without a break
		} else {
			groups = append(groups, group{refs: q.Refs[i:j], scan: scan, metric: metric})
		}
		i = j
	}
	return groups
}

func (s *Store) metricOf(ref Ref) string { return s.index.TSUID(ref.id())[:s.layout.MetricWidth] }
