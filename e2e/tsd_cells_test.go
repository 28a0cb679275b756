package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// testTSDCells: the adapter writes cells that begin at every second of the hour, with all kinds of
// qualifiers and values. OpenTSDB's queries, its scan command and its fsck must read every point,
// before and after fsck and compaction have rewritten rows: they identify kinds of cells by the
// first byte of the qualifier, and not all by its length.
func testTSDCells(t *testing.T, s tables) {
	s.create(t)
	// all lengths of values
	a := s.startAdapter(t, "--storage.values=compact", "--opentsdb.listen-address=127.0.0.1:0")
	d := s.startTSD(t, true, withoutMeta()...)
	want := tsdCells{}
	want.write(t, a.client, "cells", append(twosAndThrees(), everyKindOfCell()...))
	want.write(t, a.client, "single", singlePoints())
	want.write(t, a.client, "compacted", firstHalves())
	want.write(t, a.client, "compacted", secondHalves())
	want.put(t, newClient(a.opentsdbAddr(t)), "integers", longIntegers())
	want["integers"].wait(t, "integers", func() (pointSet, error) { return d.points(t, "integers", cellsFrom(), cellsTo()) })
	s.checkBegins(t)
	want.check(t, d, "as written") // which makes the TSD compact the rows of two cells
	s.waitCompacted(t)
	s.checkBegins(t)
	want.write(t, a.client, "joined", firstHalves()) // fsck will compact these
	want.write(t, a.client, "joined", secondHalves())

	s.checkFsck(t, d, want.points())
	want.checkDump(t, d, "as written")
	// each reads what the one before wrote
	for _, when := range []string{"after fsck --fix-all", "after another"} {
		s.checkFsck(t, d, want.points(), "--fix-all")
		s.checkBegins(t)
		want.check(t, d, when)
		want.checkDump(t, d, when)
	}
	for metric, points := range want {
		points.check(t, "remote read", ourPoints(t, a.client, metric, cellsFrom(), cellsTo()))
	}
}

// checkBegins: no cell of several points begins with what OpenTSDB's fsck takes for an append cell.
func (s tables) checkBegins(t *testing.T) {
	t.Helper()
	several, first := 0, map[byte]int{}
	for _, c := range s.cells(t, s.name) {
		if len(c.qualifier) == 2 || len(c.qualifier) == 4 && c.qualifier[0] >= 0xF0 {
			continue
		}
		several++
		first[c.qualifier[0]]++
		if c.qualifier[0] == 0x05 {
			t.Errorf("row %x: cell %x begins with 05", c.row, c.qualifier)
		}
	}
	t.Logf("%d cells of several points begin with %x", several, slices.Sorted(maps.Keys(first)))
}

// tsdCells are the points of some metrics.
type tsdCells map[string]pointSet

func (w tsdCells) points() (n int) {
	for _, points := range w {
		n += points.count()
	}
	return n
}

// check queries all points through the TSD.
func (w tsdCells) check(t *testing.T, d tsd, when string) {
	t.Helper()
	for metric, points := range w {
		points.check(t, when+": TSD query of "+metric, d.mustPoints(t, metric, cellsFrom(), cellsTo()))
	}
}

// checkDump runs the scan command, which must print all points except single ones of seconds 80 to
// 95: there it fails, also where the TSD wrote them.
func (w tsdCells) checkDump(t *testing.T, d tsd, when string) {
	t.Helper()
	whole := maps.Clone(w)
	delete(whole, "single")
	got := d.dump(t, slices.Sorted(maps.Keys(whole)), cellsFrom(), cellsTo())
	for metric, points := range whole {
		points.check(t, when+": scan of "+metric, got[metric])
	}
}

// hoursOfCells is how many rows of a series a test has.
const hoursOfCells = 100

func cellsFrom() time.Time { return epoch }
func cellsTo() time.Time   { return epoch.Add(hoursOfCells * time.Hour) }

// write writes a row for each list of points, whose times are milliseconds in the hour, and records
// them.
func (w tsdCells) write(t *testing.T, c client, metric string, rows [][]prompb.Sample) {
	t.Helper()
	c.Write(t, w.note(metric, rows)...).ok(t)
}

// put is write by OpenTSDB's HTTP put, for whole numbers.
func (w tsdCells) put(t *testing.T, c client, metric string, rows [][]prompb.Sample) {
	t.Helper()
	var points []tsdPoint
	for _, ts := range w.note(metric, rows) {
		for _, p := range ts.Samples {
			points = append(points, tsdPoint{Metric: metric, Timestamp: p.Timestamp, Value: jsonNumber(int(p.Value)), Tags: map[string]string{"n": ts.Labels[1].Value}})
		}
	}
	body, err := json.Marshal(points)
	if err != nil {
		t.Fatal(err)
	}
	c.Post(t, "/api/put", map[string]string{"Content-Type": "application/json"}, body).ok(t)
}

// note makes series of rows, an hour each, and records their points.
func (w tsdCells) note(metric string, rows [][]prompb.Sample) (all []prompb.TimeSeries) {
	if w[metric] == nil {
		w[metric] = pointSet{}
	}
	for n, hours := range slices.Collect(slices.Chunk(rows, hoursOfCells)) {
		labels := []string{"__name__", metric, "n", fmt.Sprint(n)}
		ts := series(nil, labels...)
		for hour, points := range hours {
			for _, p := range points {
				p.Timestamp += epoch.Add(time.Duration(hour) * time.Hour).UnixMilli()
				ts.Samples = append(ts.Samples, p)
				w[metric].add(keyText(labels...), p.Timestamp, p.Value)
			}
		}
		all = append(all, ts)
	}
	return all
}

// dump runs OpenTSDB's scan command, which prints the points of metrics in the form that its import
// command reads.
func (d tsd) dump(t *testing.T, metrics []string, from, to time.Time) tsdCells {
	t.Helper()
	args := []string{"--import", fmt.Sprint(from.Unix()), fmt.Sprint(to.Unix())}
	for _, m := range metrics {
		args = append(args, "none", m)
	}
	out, err := d.Tool(t.Context(), "DumpSeries", args...)
	if err != nil {
		t.Fatal(err)
	}
	all := tsdCells{}
	for line := range strings.Lines(out) {
		metric, point, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(metrics, metric) {
			continue
		}
		if all[metric] == nil {
			all[metric] = pointSet{}
		}
		all[metric].addDumped(t, metric, point)
	}
	return all
}

// addDumped records a line of the scan command without its metric: seconds or milliseconds, value,
// n=number.
func (s pointSet) addDumped(t *testing.T, metric, line string) {
	t.Helper()
	var stamp int64
	var v float64
	var n int
	if _, err := fmt.Sscanf(line, "%d %g n=%d", &stamp, &v, &n); err != nil {
		t.Fatalf("scan printed %q of %s: %v", line, metric, err)
	}
	if stamp < 1<<32 {
		stamp *= 1000
	}
	s.add(keyText("__name__", metric, "n", fmt.Sprint(n)), stamp, v)
}
