package put

import (
	"context"
	"errors"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// rollup takes the value of a line, or answers why it does not: "rollup <interval>-<aggregation>[:<group's
// aggregation>] <metric> <timestamp> <value> <tagk=tagv> ...".
func (t *Telnet) rollup(line []byte) {
	one, err := t.Puts.rollups.ParseLine(strings.Split(putline.Latin1(line), " ")[1:])
	if err == nil {
		t.rolled = append(t.rolled, one)
		return
	}
	t.Puts.telnet.CountPoints(1, 1, nil)
	t.keepLine(line, err)
	t.refusedRollup(err)
}

func (t *Telnet) refusedRollup(err error) {
	t.Bad++
	if interval, ok := errors.AsType[noInterval](err); ok {
		t.say("rollup: No such rollup: " + interval.Error())
		return
	}
	t.say("rollup" + strings.TrimPrefix(refusalText(err), "put"))
}

// storeRollups stores the values of the lines, and tries again while the store fails.
func (t *Telnet) storeRollups(ctx context.Context, d *Delivery) {
	series, values := make([]storage.Series, len(t.rolled)), make([]rollup.Point, len(t.rolled))
	for i, one := range t.rolled {
		series[i], values[i] = one.Series, one.Value
	}
	t.rolled = t.rolled[:0]
	var refused []error
	bad := 0
	err := errLost
	d.Retry(ctx, func() error {
		refused, err = t.Puts.rollups.Store(ctx, series, values)
		if err != nil && storage.IsRefusal(err) {
			return nil
		}
		return err
	})
	for i, one := range refused {
		if one != nil && storage.IsRefusal(one) {
			bad++
			t.keepStored(seriesKey(series[i]), 1, one)
			t.refusedRollup(one)
		}
	}
	switch {
	case err != nil && storage.IsRefusal(err):
		t.keepStored(nil, len(series), err)
		t.refusedRollup(err)
		t.Puts.telnet.CountPoints(len(series), len(series), nil)
	default:
		t.Puts.telnet.CountPoints(len(series), bad, err)
	}
}
