package put

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// A LineRollup is a rolled up value of a line.
type LineRollup struct {
	Series storage.Series
	Value  rollup.Point
}

// ParseLine is RollupDataPointRpc.importDataPoint of OpenTSDB 2.4 for the words behind "rollup".
func (r *RollupStore) ParseLine(words []string) (one LineRollup, err error) {
	if len(words) < 5 || words[0] == "" && len(words) == 1 {
		got := len(words)
		if got == 1 && words[0] == "" {
			got = 0
		}
		return one, putline.ArgumentError(fmt.Sprintf("not enough arguments (need least 7, got %d)", got))
	}
	if words[0] == "" {
		return one, putline.ArgumentError("Missing interval or aggregator")
	}
	p := sentRollup{}
	p.interval, p.aggregation, p.group = madeBy(words[0])
	if p.Metric = words[1]; p.Metric == "" {
		return one, putline.ArgumentError("empty metric name")
	}
	if p.Timestamp, err = r.parseTime(words[2]); err != nil {
		return one, err
	}
	if words[3] == "" {
		return one, putline.ArgumentError("empty value")
	}
	if p.Tags, err = putline.ParseTags(words[4:]); err != nil {
		return one, err
	}
	p.Double = r.exported && strings.HasSuffix(words[3], DoubleSuffix)
	if p.Value, err = putline.ParseNumber(putline.Latin1Bytes(words[3])); err != nil {
		return one, err
	}
	one.Series, one.Value, err = r.resolve(&p)
	return one, err
}

// DoubleSuffix ends a float that takes 8 bytes though its value fits into 4: Java's letter for a double.
const DoubleSuffix = "d"

// madeBy reads interval-aggregation, interval-aggregation:group or group.
func madeBy(word string) (interval, aggregation, group string) {
	first, group, _ := strings.Cut(word, ":")
	group, _, _ = strings.Cut(group, ":")
	var timed bool
	if interval, aggregation, timed = strings.Cut(first, "-"); !timed {
		interval = ""
		if group == "" {
			group = first
		}
		aggregation = group
	}
	return interval, aggregation, group
}

// parseTime reads a timestamp in seconds. An export has one of 0, too.
func (r *RollupStore) parseTime(word string) (int64, error) {
	if at, ok := putline.ParseMillis(word); ok && r.exported && at.Time%1000 == 0 {
		return at.Time / 1000, nil
	}
	timestamp, err := putline.ParseLong(strings.ReplaceAll(word, ".", ""))
	if err == nil && timestamp <= 0 {
		err = putline.ArgumentError(fmt.Sprintf("invalid timestamp: %d", timestamp))
	}
	return timestamp, err
}
