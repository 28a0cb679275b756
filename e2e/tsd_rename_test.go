package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// testTSDRename renames a metric and a tag value with OpenTSDB's tool while an adapter writes them
// by two protocols. Soon the old names are new series, and points written under them before have
// the new names for TSD and adapter.
func testTSDRename(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, withCarbon)
	d := s.startTSD(t, false, withoutMeta()...)
	write := func(n int) { // point n of both series
		t.Helper()
		if r := a.Write(t, series(samples(at(float64(n)), n), "__name__", "old.name", "host", "oldhost")); r.status/100 != 2 {
			t.Fatalf("write: %v", r)
		}
		sendCarbon(t, "tcp", a.carbonAddr(t), fmt.Sprintf("old.carbon %d %d\n", n, second(n)))
	}
	from, to := epoch, epoch.Add(time.Hour)
	count := func(metric, tag string) int { // points that the TSD has
		points, err := d.points(t, metric+tag, from, to)
		if err != nil && !strings.Contains(err.Error(), "No such name") {
			t.Fatal(err)
		}
		return points.count()
	}
	write(1)
	eventually(t, waitTimeout, "the first points", func() error {
		if count("old.name", "{host=oldhost}") != 1 || count("old.carbon", "") != 1 {
			return fmt.Errorf("old.name has %d, old.carbon %d", count("old.name", "{host=oldhost}"), count("old.carbon", ""))
		}
		return nil
	})
	for _, rename := range [][]string{{"metrics", "old.carbon", "new.carbon"}, {"tagv", "oldhost", "newhost"}} {
		if said, err := d.Tool(t.Context(), "UidManager", append([]string{"--verbose", "rename"}, rename...)...); err != nil {
			t.Fatal(err, said)
		}
	}
	// --storage.index-refresh is 1 s here; until it has passed points go to the renamed series, as
	// they do from a TSD that was running.
	renamed := time.Now()
	n := 1
	fresh := s.startTSD(t, false, withoutMeta()...) // the other one remembers the old names too
	d = fresh
	eventually(t, waitTimeout, "the old names are new series", func() error {
		n++
		write(n)
		if count("old.name", "{host=oldhost}") == 0 || count("old.carbon", "") == 0 {
			return fmt.Errorf("after %d points", n)
		}
		return nil
	})
	t.Logf("noticed at most %v after the rename", time.Since(renamed).Round(time.Millisecond))
	before := [2]int{count("old.name", "{host=newhost}"), count("new.carbon", "")}
	for range 3 {
		n++
		write(n)
	}
	eventually(t, waitTimeout, "all points", func() error {
		for i, pair := range [][2]int{
			{count("old.name", "{host=newhost}"), count("old.name", "{host=oldhost}")}, {count("new.carbon", ""), count("old.carbon", "")},
		} {
			if pair[0] != before[i] || pair[0]+pair[1] != n {
				return fmt.Errorf("%d points under the new name, %d under the old one; want %d and %d", pair[0], pair[1], before[i], n-before[i])
			}
		}
		return nil
	})
}
