package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testTSDCopy copies tables that a TSD and an adapter have written into an embedded store with other widths, and that into other
// tables, which another TSD reads.
func testTSDCopy(t *testing.T, s tables) {
	s.create(t)
	d := s.startTSD(t, false)
	var points []tsdPoint
	for n := range 300 {
		value := json.Number(strconv.Itoa(n*n - 1000))
		if n%3 == 0 {
			value = json.Number(strconv.FormatFloat(float64(n)/7, 'g', -1, 64))
		}
		points = append(points, tsdPoint{Metric: "copied.m", Timestamp: epoch.Unix() + int64(n)*61, Value: value, Tags: map[string]string{"host": "h" + strconv.Itoa(n%3)}})
	}
	for len(points) > 0 {
		d.Put(t, points[:50]...)
		points = points[50:]
	}
	a := s.startAdapter(t)
	objects := writeObjects(t, a.client)
	a.Stop(t)
	from, to := epoch.Add(-time.Hour), epoch.Add(10*time.Hour)
	want := d.mustPoints(t, "copied.m", from, to)

	dir := t.TempDir()
	embedded := []string{"--storage.path=" + filepath.Join(dir, "store"), "--storage.uid-width.metric=4"}
	writeConfig(t, filepath.Join(dir, "embedded.yml"), embedded)
	writeConfig(t, filepath.Join(dir, "hbase.yml"), s.args())
	copied := func(from, to string) {
		t.Helper()
		if out := tsdbridge(t, dir, "copy", "--from="+from, "--to="+to, "--verify=all"); !strings.Contains(out, "; 0 series differ, 0 points are missing") {
			t.Fatal(out)
		}
	}
	copied("hbase.yml", "embedded.yml")
	a = startAdapter(t, append(embedded, "--opentsdb.listen-address=127.0.0.1:0")...)
	if got := (tsd{client: newClient(a.opentsdbAddr(t))}).mustPoints(t, "copied.m", from, to); !reflect.DeepEqual(got, want) || len(want) == 0 {
		t.Errorf("embedded: %v, want %v", got, want)
	}
	objects.check(t, a.client)
	a.Stop(t)

	back := tables{cluster: s.cluster, name: s.name + "Back"}
	back.create(t)
	writeConfig(t, filepath.Join(dir, "back.yml"), back.args())
	copied("embedded.yml", "back.yml")
	if got := back.startTSD(t, false).mustPoints(t, "copied.m", from, to); !reflect.DeepEqual(got, want) {
		t.Errorf("back: %v, want %v", got, want)
	}
	a = back.startAdapter(t)
	objects.check(t, a.client)
}

// writeConfig writes flags as a configuration file.
func writeConfig(t *testing.T, name string, flags []string) {
	t.Helper()
	var text strings.Builder
	for _, flag := range flags {
		key, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		text.WriteString(key + ": " + strconv.Quote(value) + "\n")
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
