package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// testTSDAppends: a TSD with tsd.storage.enable_appends and an adapter with its configuration write to
// the same rows, in turn and at once. Both see every point, of each instant the value written last; all
// points are in append cells, and OpenTSDB's checks find nothing.
func testTSDAppends(t *testing.T, s tables) {
	s.create(t)
	d := s.startTSD(t, false, "tsd.storage.enable_appends", "true")
	a := s.startAdapter(t, "--hbase.append-cells")
	want := pointSet{}
	put := func(host string, at float64, values ...string) {
		t.Helper()
		var points []tsdPoint
		for i, v := range values {
			points = append(points, tsdPoint{Metric: "appended", Timestamp: epoch.Unix() + int64(at) + int64(i), Value: json.Number(v), Tags: map[string]string{"host": host}})
			number, err := json.Number(v).Float64()
			if err != nil {
				t.Fatal(err)
			}
			want.add(keyText("__name__", "appended", "host", host), (epoch.Unix()+int64(at)+int64(i))*1000, number)
		}
		d.Put(t, points...)
	}
	write := func(host string, points ...any) {
		t.Helper()
		want.write(t, a.client, samples(points...), "__name__", "appended", "host", host)
	}
	from, to := epoch.Add(-time.Hour), epoch.Add(4*time.Hour)
	check := func(when string) {
		t.Helper()
		want.wait(t, when+": TSD", func() (pointSet, error) { return d.points(t, "appended", from, to) })
		want.check(t, when+": remote read", ourPoints(t, a.client, "appended", from, to))
	}

	put("theirs", 0, "1", "2.5", "300", "-70000")
	write("theirs", at(1), 1.5, at(10.25), 10, at(-60), 60) // a correction, a later point, another hour
	put("theirs", 2, "301", "5")                            // corrected again
	write("theirs", at(0.5), 0.5)
	check("rows of the TSD")

	write("ours", at(0), 1, at(1), 2.5, at(7), 7)
	put("ours", 1, "3", "4")
	write("ours", at(2), 4.5, at(3600), 1)
	put("ours", 3601, "2")
	check("rows of the adapter")

	// At once, at instants of their own: no append takes the other's place. The name has a UID before: a
	// TSD that assigns one at the same time as an adapter leaks one.
	write("both", at(1999), 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 40 {
			d.Put(t, tsdPoint{Metric: "appended", Timestamp: epoch.Unix() + 1000 + int64(i), Value: jsonNumber(i), Tags: map[string]string{"host": "both"}})
		}
	}()
	for i := range 40 {
		write("both", at(float64(2000+i)), i)
	}
	<-done
	for i := range 40 {
		want.add(keyText("__name__", "appended", "host", "both"), at(float64(1000+i)), float64(i))
	}
	check("at once")

	rows, _ := s.dataCells(t)
	cells := s.cells(t, s.name)
	appended := 0
	for _, c := range cells {
		if c.qualifier == "\x05\x00\x00" {
			appended++
		}
	}
	if len(rows) > 0 || appended != 5 {
		t.Errorf("%d rows have other cells of points, %d append cells; want 0, 5", len(rows), appended)
	}
	if out := s.tsdFsck(t, d); !strings.Contains(out, "Total Errors: 0") {
		t.Errorf("OpenTSDB's fsck:\n%s", out)
	}
	found, printed := s.fsck(t, 0)
	for key, kinds := range found {
		if !slices.Equal(kinds, []string{"untidy-append"}) { // what a TSD has appended last
			t.Errorf("fsck: %s: %v\n%s", key, kinds, printed)
		}
	}
	checkUIDFsck(t, d)
	check("after the checks")

	// An adapter that ends in the middle repeats what it has in its log.
	logged := s.startAdapter(t, "--hbase.append-cells", "--write.mode=buffered", "--write.log.path="+t.TempDir())
	want.write(t, logged.client, samples(at(1), 11, at(4000), 12), "__name__", "appended", "host", "ours")
	put("ours", 2000, "13")
	logged.Stop(t)
	check("after the end of an adapter with a log")
}
