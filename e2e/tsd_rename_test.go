package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// testTSDRename renames a metric and a tag value with OpenTSDB's tool while an adapter writes them
// by two protocols. Soon the old names are new series, and points written under them before have
// the new names for TSD and adapter.
func testTSDRename(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, withCarbon, "--opentsdb.allow-edits")
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
	checkRenameOurs(t, s, a, n)
}

// checkRenameOurs renames a metric that has n points by way of the adapter. A TSD and the adapter itself
// have the new name, the leaf is found under it, and OpenTSDB's check of the UIDs finds nothing.
func checkRenameOurs(t *testing.T, s tables, a *adapter, n int) {
	t.Helper()
	ask := func(path, body string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ body, want string }{
		{`{"metric":"new.carbon","name":"our.carbon"}`, `{"result":"true"}`},
		{`{"metric":"new.carbon","name":"our.carbon"}`, `{"result":"false","error":"Name(\"new.carbon\") does not exist"}`},
	} {
		if got := ask("/api/uid/rename", c.body); got != c.want {
			t.Fatalf("rename %s: %s, want %s", c.body, got, c.want)
		}
	}
	d := s.startTSD(t, false, withoutMeta()...)
	points, err := d.points(t, "our.carbon", epoch, epoch.Add(time.Hour))
	old, oldErr := d.points(t, "old.carbon", epoch, epoch.Add(time.Hour))
	if err != nil || oldErr != nil || points.count()+old.count() != n {
		t.Errorf("a TSD has %d points under the new name, %d under the first, of %d: %v, %v", points.count(), old.count(), n, err, oldErr)
	}
	if _, err := d.points(t, "new.carbon", epoch, epoch.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "No such name") {
		t.Errorf("a TSD has the name before: %v", err)
	}
	if found := ask("/metrics/find?query=our.*", ""); !strings.Contains(found, "carbon") {
		t.Errorf("the leaf is not found: %s", found)
	}
	if found := ask("/metrics/find?query=new.*", ""); strings.Contains(found, "carbon") {
		t.Errorf("the leaf is found under the name before: %s", found)
	}
	checkUIDFsck(t, d)
}
