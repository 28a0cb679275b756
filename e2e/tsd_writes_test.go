package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testTSDWrites reads what real TSDs wrote: one compacts its rows and leaves tsdb-meta empty, as
// most do; the other appends and keeps tsdb-meta. Adapter and TSDs must return the same points at
// every moment.
func testTSDWrites(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t)
	compacting := s.startTSD(t, true, withoutMeta()...)
	appending := s.startTSD(t, false, "tsd.storage.enable_appends", "true")
	b := both{t: t, tables: s, adapter: a, tsds: []tsd{compacting, appending}}

	// Each metric is queried as soon as it is written: only tsdb-uid and the row keys contain it.
	b.want = pointSet{}
	b.telnet(compacting, "sys.cpu.user")
	b.put(compacting, "sys.cpu.user")
	b.check("sys.cpu.user", "cells of a TSD")
	b.annotate("sys.cpu.user")
	b.check("sys.cpu.user", "with annotations")
	s.waitCompacted(t)
	b.check("sys.cpu.user", "compacted")
	b.put(compacting, "sys.cpu.user")
	b.check("sys.cpu.user", "compacted, and written again")

	b.want = pointSet{}
	b.telnet(appending, "sys.appended")
	b.put(appending, "sys.appended")
	b.check("sys.appended", "appended by a TSD")

	b.want = pointSet{}
	b.telnet(compacting, "sys.mixed")
	b.put(appending, "sys.mixed")
	b.writeNextTo("sys.mixed")
	b.check("sys.mixed", "cells, append cells and ours")
	b.put(compacting, "sys.mixed") // again
	b.check("sys.mixed", "written again after compaction")
}

// both is an adapter and TSDs on the same tables, and the points that all of them must see.
type both struct {
	t       *testing.T
	tables  tables
	adapter *adapter
	tsds    []tsd
	want    pointSet
}

// from and to are the window of the test.
func (b *both) from() time.Time { return epoch.Add(-time.Hour) }
func (b *both) to() time.Time   { return epoch.Add(4 * time.Hour) }

// check fails the test unless all readers see the expected points. Points that TSDs received by
// telnet arrive a little later.
func (b *both) check(metric, when string) {
	b.t.Helper()
	for i, d := range b.tsds {
		b.want.wait(b.t, fmt.Sprintf("%s, TSD %d", when, i), func() (pointSet, error) { return d.points(b.t, metric, b.from(), b.to()) })
	}
	// No waiting: what a TSD returns is in the table.
	b.want.check(b.t, when+", remote read", ourPoints(b.t, b.adapter.client, metric, b.from(), b.to()))
	selector := fmt.Sprintf("{%q}", metric)
	b.want.check(b.t, when+", query", queriedPoints(b.t, b.adapter.client, selector, b.from(), b.to()))
	series := b.adapter.Series(b.t, selector, b.from(), b.to())
	for labels := range b.want {
		if !slices.Contains(series, labels) {
			b.t.Errorf("%s: series %s is not in /api/v1/series: %v", when, labels, series)
		}
	}
	if len(series) != len(b.want) {
		b.t.Errorf("%s: /api/v1/series has %d series, want %d: %v", when, len(series), len(b.want), series)
	}
}

// tsdValues are numbers of every size and form that a TSD stores.
func tsdValues() []string {
	return []string{
		"0", "1", "-1", "127", "-128", "128", "32767", "-32769", "2147483647", "-2147483649", "9007199254740993",
		strconv.Itoa(math.MaxInt64), strconv.Itoa(math.MinInt64), "2.5", "-0.0", "0.1", "3.4e38", "1e39", "1e-45", "16777217.0", "-1.7976931348623157e308",
	}
}

// telnet writes the values by telnet: host=telnet in whole seconds, host=ms in milliseconds, over
// three hours.
func (b *both) telnet(d tsd, metric string) {
	b.t.Helper()
	var lines []string
	for i, v := range tsdValues() {
		second := int64(i * 600)
		lines = append(lines, fmt.Sprintf("put %s %d %s host=telnet", metric, epoch.Unix()+second, v))
		b.note(metric, "telnet", (epoch.Unix()+second)*1000, v)
		ms := at(float64(second)) + int64(i)
		lines = append(lines, fmt.Sprintf("put %s %d %s host=ms", metric, ms, v))
		b.note(metric, "ms", ms, v)
	}
	d.Telnet(b.t, lines...)
}

// put writes the values by HTTP: host=http, seconds and milliseconds in turn, in no order.
func (b *both) put(d tsd, metric string) {
	b.t.Helper()
	var points []tsdPoint
	for i, v := range tsdValues() {
		stamp := epoch.Unix() + int64(i*601)
		if i%2 == 1 {
			stamp = stamp*1000 + 250
		}
		points = append(points, tsdPoint{Metric: metric, Timestamp: stamp, Value: json.Number(v), Tags: map[string]string{"host": "http"}})
		if i%2 == 0 {
			stamp *= 1000
		}
		b.note(metric, "http", stamp, v)
	}
	slices.Reverse(points)
	d.Put(b.t, points...)
}

// writeNextTo writes with the adapter to a series of its own and into the TSDs' rows, at instants
// without points.
func (b *both) writeNextTo(metric string) {
	b.t.Helper()
	for _, host := range []string{"us", "telnet", "ms", "http"} {
		b.want.write(b.t, b.adapter.client, samples(at(33), 33, at(33.5), 0.335, at(3633), 1e9), "__name__", metric, "host", host)
	}
}

func (b *both) note(metric, host string, ms int64, text string) {
	b.t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	b.want.add(keyText("__name__", metric, "host", host), ms, v)
}

// annotate attaches a note to every series of a metric.
func (b *both) annotate(metric string) {
	b.t.Helper()
	d := b.tsds[0]
	found, err := d.Query(b.t, "none:"+metric, b.from(), b.to())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range found {
		d.Annotate(b.t, s.TSUIDs[0], epoch.Add(60*time.Second), "a note")
	}
	notes := 0
	for _, c := range b.tables.cells(b.t, b.tables.name) {
		if strings.HasPrefix(c.qualifier, "\x01") && len(c.qualifier)%2 == 1 {
			notes++
		}
	}
	if notes != len(found) {
		b.t.Errorf("%d annotations in the table, want %d", notes, len(found))
	}
}
