package e2e_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testTSDCorrections writes points late, twice and with new values, also over what a TSD wrote.
// Afterwards TSD and adapter return the newest value of every instant, no compaction or repair by
// OpenTSDB changes a point, and its checks find nothing.
func testTSDCorrections(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t)
	// This TSD compacts on a query of an old row, so without queries it compacts nothing.
	d := s.startTSD(t, true)
	want := pointSet{}
	correctOurs(t, a.client, want)
	correctTSDs(t, a.client, d, want)
	writeObjectsOnly(t, a.client) // another metric: rows of objects alone

	from, to := epoch.Add(-2*time.Hour), epoch.Add(4*time.Hour)
	visible := want.finite()
	check := func(when string) {
		t.Helper()
		visible.check(t, when+": TSD", d.mustPoints(t, "corrected", from, to))
		want.check(t, when+": remote read", ourPoints(t, a.client, "corrected", from, to))
	}
	// First as the adapter left it: fsck compacts nothing, the first query may.
	checkUIDFsck(t, d)
	s.checkFsck(t, d, visible.count())
	rows, objects := s.dataCells(t)
	if most := mostCells(rows); most < 10 {
		t.Errorf("rows have %d cells of points at most: there is nothing to compact", most)
	}
	check("as written")
	s.waitCompacted(t)
	check("compacted")
	s.checkUntouched(t, rows, objects)
	s.checkFsck(t, d, visible.count(), "--fix-all")
	s.checkUntouched(t, rows, objects)
	check("after fsck --fix-all")

	// The adapter knows these rows as they were before the TSD rewrote them.
	rewriteAll(t, a.client, want)
	visible = want.finite()
	s.checkFsck(t, d, visible.count())
	check("corrected after the compaction")
	s.waitCompacted(t)
	check("compacted again")
	checkUIDFsck(t, d)
}

func mostCells(rows map[string]int) int { return slices.Max(slices.Collect(maps.Values(rows))) }

// finite returns what a TSD sees: NaN and the infinities are in cells that it passes over.
func (s pointSet) finite() pointSet {
	c := s.clone()
	for labels, points := range s {
		for at, v := range points {
			if v == "+Inf" || v == "-Inf" || v[0] == 'N' {
				c.remove(labels, at)
			}
		}
	}
	return c
}

// correctOurs writes series that only the adapter writes.
func correctOurs(t *testing.T, c client, want pointSet) {
	t.Helper()
	write := func(host string, points ...any) {
		t.Helper()
		want.write(t, c, samples(points...), "__name__", "corrected", "host", host)
	}
	for i := range 30 { // a cell for each
		write("cells", at(float64(i)), i, at(float64(i)+0.25), -i)
	}
	write("cells", at(3), 33, at(3.25), 0.1, at(100), 1) // corrected with another length
	write("cells", at(40), 40)                           // late
	write("cells", at(3), 33)                            // again
	write("cells", at(29), math.Inf(1), at(50), 50)      // an object takes the place of a point
	write("cells", at(29), 29.5)                         // and gives it back

	write("late", at(100), 100, at(101), 101, at(102.5), 102)
	write("late", at(10), 10)
	write("late", at(50), 50, at(100), 100, at(101), 1.01)
	write("late", at(-3600), 1, at(3600), 2, at(-3600), 3)
	write("late", at(102.5), math.NaN(), at(102.75), math.Inf(-1))

	var batch []any
	for i := range 3600 { // merged rows
		batch = append(batch, at(float64(i)), i)
	}
	write("dense", batch...)
	write("dense", at(1800), -1, at(1800.5), 0.1, at(0), 7)
}

// correctTSDs: the TSD writes integers and floats, and the adapter corrects some of them.
func correctTSDs(t *testing.T, c client, d tsd, want pointSet) {
	t.Helper()
	labels := func(host string) []string { return []string{"__name__", "corrected", "host", host} }
	var points []tsdPoint
	for _, host := range []string{"ints", "untouched"} {
		for i := range 20 {
			points = append(points, tsdPoint{Metric: "corrected", Timestamp: epoch.Unix() + int64(i), Value: jsonNumber(i * i * i * i), Tags: map[string]string{"host": host}})
			want.add(keyText(labels(host)...), at(float64(i)), float64(i*i*i*i))
		}
		points = append(points, tsdPoint{Metric: "corrected", Timestamp: at(30.5), Value: "0.1", Tags: map[string]string{"host": host}})
		want.add(keyText(labels(host)...), at(30.5), 0.1)
	}
	d.Put(t, points...)
	want.write(t, c, samples(at(5), 5.5, at(5.5), 5, at(30.5), 30), labels("ints")...)
	// the second already has this value, as an integer
	want.write(t, c, samples(at(6), math.Inf(1), at(7), 49*49), labels("ints")...)
	want.write(t, c, samples(at(19), 0), labels("ints")...)
	want.write(t, c, samples(at(3599), 1), labels("untouched")...) // another series, without a correction
}

// rewriteAll corrects a point of every series.
func rewriteAll(t *testing.T, c client, want pointSet) {
	t.Helper()
	for _, host := range []string{"cells", "late", "dense", "ints", "untouched"} {
		want.write(t, c, samples(at(10), 1010, at(10.75), 1011), "__name__", "corrected", "host", host)
	}
}

// waitCompacted waits until no row has more than one cell of points.
func (s tables) waitCompacted(t *testing.T) {
	t.Helper()
	eventually(t, waitTimeout, "compaction by the TSD", func() error {
		rows, _ := s.dataCells(t)
		for row, cells := range rows {
			if cells > 1 {
				return fmt.Errorf("row %x has %d cells", row, cells)
			}
		}
		return nil
	})
}

// checkUntouched checks that the rows from before are there, with every cell of objects unchanged.
func (s tables) checkUntouched(t *testing.T, before map[string]int, objects []cell) {
	t.Helper()
	rows, now := s.dataCells(t)
	if len(rows) != len(before) {
		t.Errorf("%d rows of points, before there were %d", len(rows), len(before))
	}
	if diff := cmp.Diff(objects, now, cmp.AllowUnexported(cell{})); diff != "" || len(objects) == 0 {
		t.Errorf("%d cells of objects, before there were %d (-before +now):\n%s", len(now), len(objects), diff)
	}
}
