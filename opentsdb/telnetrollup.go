package opentsdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// A telnetRollup is a rolled up value of a line.
type telnetRollup struct {
	series storage.Series
	value  rollup.Point
}

// rollup takes the value of a line, or answers why it does not: "rollup <interval>-<aggregation>[:<group's
// aggregation>] <metric> <timestamp> <value> <tagk=tagv> ...".
func (t *telnet) rollup(line []byte) {
	one, err := t.parseRollup(strings.Split(latin1(line), " ")[1:])
	if err == nil {
		t.rolled = append(t.rolled, one)
		return
	}
	t.puts.telnet.CountPoints(1, 1, nil)
	t.refusedRollup(err)
}

// parseRollup is RollupDataPointRpc.importDataPoint of OpenTSDB 2.4 for the words behind "rollup".
func (t *telnet) parseRollup(words []string) (one telnetRollup, err error) {
	if len(words) < 5 || words[0] == "" && len(words) == 1 {
		got := len(words)
		if got == 1 && words[0] == "" {
			got = 0
		}
		return one, argumentError(fmt.Sprintf("not enough arguments (need least 7, got %d)", got))
	}
	if words[0] == "" {
		return one, argumentError("Missing interval or aggregator")
	}
	p := sentRollup{}
	p.interval, p.aggregation, p.group = rollupWord(words[0])
	if p.metric = words[1]; p.metric == "" {
		return one, argumentError("empty metric name")
	}
	p.timestamp, err = parseLong(strings.ReplaceAll(words[2], ".", ""))
	switch {
	case err != nil:
		return one, err
	case p.timestamp <= 0:
		return one, argumentError(fmt.Sprintf("invalid timestamp: %d", p.timestamp))
	case words[3] == "":
		return one, argumentError("empty value")
	}
	if p.tags, err = parseTags(words[4:]); err != nil {
		return one, err
	}
	if p.value, err = parseNumber(latin1Bytes(words[3])); err != nil {
		return one, err
	}
	one.series, one.value, err = t.puts.rollups.resolve(&p)
	return one, err
}

// rollupWord reads interval-aggregation, interval-aggregation:group or group.
func rollupWord(word string) (interval, aggregation, group string) {
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

func (t *telnet) refusedRollup(err error) {
	t.bad++
	if interval, ok := errors.AsType[noInterval](err); ok {
		t.say("rollup: No such rollup: " + interval.Error())
		return
	}
	t.say("rollup" + strings.TrimPrefix(refusalText(err), "put"))
}

// storeRollups stores the values of the lines, and tries again while the store fails.
func (t *telnet) storeRollups(ctx context.Context, d *delivery) {
	series, values := make([]storage.Series, len(t.rolled)), make([]rollup.Point, len(t.rolled))
	for i, one := range t.rolled {
		series[i], values[i] = one.series, one.value
	}
	t.rolled = t.rolled[:0]
	var refused []error
	bad := 0
	err := errLost
	d.Retry(ctx, func() error {
		refused, err = t.puts.rollups.store(ctx, series, values)
		if err != nil && storage.IsRefusal(err) {
			return nil
		}
		return err
	})
	for _, one := range refused {
		if one != nil && storage.IsRefusal(one) {
			bad++
			t.refusedRollup(one)
		}
	}
	switch {
	case err != nil && storage.IsRefusal(err):
		t.refusedRollup(err)
		t.puts.telnet.CountPoints(len(series), len(series), nil)
	default:
		t.puts.telnet.CountPoints(len(series), bad, err)
	}
}
