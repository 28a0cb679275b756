package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// testTSDMistaken: a TSD's compaction makes cells of several points that begin with 05, which
// OpenTSDB's own fsck takes for append cells and deletes. The adapter reads them; when it writes to
// their row, it replaces them by a cell that fsck reads.
func testTSDMistaken(t *testing.T, s tables) {
	s.create(t)
	d := s.startTSD(t, true, withoutMeta()...)
	want := pointSet{}
	hosts := []string{"later", "earlier", "again", "corrected", "untouched"}
	var points []tsdPoint
	for _, host := range hosts {
		// Read as an append cell, the value 000000 is one point, at the hour.
		for _, second := range []int64{80, 90} {
			points = append(points, tsdPoint{Metric: "mistaken", Timestamp: epoch.Unix() + second, Value: "0", Tags: map[string]string{"host": host}})
			want.add(mistakenKey(host), at(float64(second)), 0)
		}
	}
	d.Put(t, points...)
	from, to := epoch, epoch.Add(time.Hour)
	want.check(t, "TSD", d.mustPoints(t, "mistaken", from, to)) // and now it compacts
	eventually(t, waitTimeout, "compaction by the TSD", func() error { return s.wantMistaken(t, len(hosts)) })

	a := s.startAdapter(t)
	want.check(t, "remote read", ourPoints(t, a.client, "mistaken", from, to))
	for host, write := range map[string][]any{
		"later": {at(110), 110}, "earlier": {at(79.5), 79}, "again": {at(90), 0}, "corrected": {at(80), 80.5},
	} {
		want.write(t, a.client, samples(write...), "__name__", "mistaken", "host", host)
	}
	if err := s.wantMistaken(t, 1); err != nil {
		t.Error(err)
	}
	want.check(t, "TSD after our writes", d.mustPoints(t, "mistaken", from, to))
	for range 2 {
		// It fails where it found something to repair.
		if out, err := d.Tool(t.Context(), "Fsck", "--threads=1", "--full-scan", "--fix-all"); !strings.Contains(out, "Completed fsck") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	key := mistakenKey("untouched") // the adapter's cells are what makes the difference
	delete(want, key)
	want.add(key, at(0), 0)
	want.check(t, "TSD after fsck --fix-all", d.mustPoints(t, "mistaken", from, to))
}

func mistakenKey(host string) string { return keyText("__name__", "mistaken", "host", host) }

// wantMistaken returns an error unless so many cells of several points begin with 05 and each row has
// one cell.
func (s tables) wantMistaken(t *testing.T, want int) error {
	t.Helper()
	mistaken := 0
	rows, _ := s.dataCells(t)
	for _, c := range s.cells(t, s.name) {
		if len(c.qualifier) > 2 && c.qualifier[0] == 0x05 {
			mistaken++
		}
		if rows[c.row] != 1 {
			return fmt.Errorf("row %x has %d cells", c.row, rows[c.row])
		}
	}
	if mistaken != want {
		return fmt.Errorf("%d cells begin with 05, want %d", mistaken, want)
	}
	return nil
}
