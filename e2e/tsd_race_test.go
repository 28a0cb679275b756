package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
)

// raceNames is the number of metrics, and of values of each of two tags, that are new to all
// writers at once.
const raceNames = 200

// testTSDRace: two adapters and a TSD write to the same new series at once. Afterwards every name
// has one UID, all readers see every point, and the only unused UIDs are those that the TSD reports
// as leaked.
func testTSDRace(t *testing.T, s tables, logs string) {
	s.create(t)
	adapters := []*adapter{s.startAdapter(t), s.startAdapter(t)}
	d := s.startTSD(t, false)
	want := pointSet{}
	for n := range raceNames {
		for writer := range 3 {
			want.add(raceLabels(n), at(float64(writer)), float64(n))
		}
	}

	begin := time.Now()
	race(func(writer int, numbers []int) {
		if writer < len(adapters) {
			raceAdapter(t, adapters[writer], writer, numbers)
			return
		}
		raceTSD(t, d, writer, numbers)
	})
	t.Logf("%d points of %d new series by three writers in %v", want.count(), len(want), time.Since(begin).Round(time.Millisecond))
	if t.Failed() {
		return
	}

	s.checkUIDs(t, d, logs)
	for _, a := range adapters {
		got := pointSet{}
		for n := range raceNames {
			collect(got, ourPoints(t, a.client, raceMetric(n), epoch, epoch.Add(time.Hour)))
		}
		want.check(t, "adapter", got)
	}
	got := pointSet{}
	for n := range raceNames {
		collect(got, d.mustPoints(t, raceMetric(n), epoch, epoch.Add(time.Hour)))
	}
	want.check(t, "TSD", got)
}

func collect(all, more pointSet) {
	maps.Copy(all, more)
}

func raceMetric(n int) string { return fmt.Sprintf("race.%03d", n) }

func raceTags(n int) map[string]string {
	return map[string]string{"host": fmt.Sprintf("host%03d", n), "dc": fmt.Sprintf("dc%03d", n)}
}

func raceLabels(n int) string {
	tags := raceTags(n)
	return keyText("__name__", raceMetric(n), "host", tags["host"], "dc", tags["dc"])
}

// race makes the three writers write the same new series at the same time, a few series at a time
// so that they stay together.
func race(write func(writer int, numbers []int)) {
	const batch = 20
	for from := 0; from < raceNames; from += batch {
		numbers := make([]int, batch)
		for i := range numbers {
			numbers[i] = from + i
		}
		var writers sync.WaitGroup
		for writer := range 3 {
			writers.Go(func() { write(writer, numbers) })
		}
		writers.Wait()
	}
}

// raceAdapter runs in a goroutine of its own; only the test's goroutine may end the test.
func raceAdapter(t *testing.T, a *adapter, writer int, numbers []int) {
	var all []prompb.TimeSeries
	for _, n := range numbers {
		tags := raceTags(n)
		all = append(all, series(samples(at(float64(writer)), n), "__name__", raceMetric(n), "dc", tags["dc"], "host", tags["host"]))
	}
	r, err := a.do(t.Context(), http.MethodPost, "/api/v1/write", writeHeader(contentV1, nil), snappied(t, &prompb.WriteRequest{Timeseries: all}))
	if err != nil || r.status/100 != 2 {
		t.Errorf("adapter %d: write: %v %v", writer, r, err)
	}
}

func raceTSD(t *testing.T, d tsd, writer int, numbers []int) {
	var all []tsdPoint
	for _, n := range numbers {
		all = append(all, tsdPoint{Metric: raceMetric(n), Timestamp: epoch.Unix() + int64(writer), Value: jsonNumber(n), Tags: raceTags(n)})
	}
	if err := d.put(t, all); err != nil {
		t.Error(err)
	}
}

// checkUIDs reads tsdb-uid: forward and reverse rows must agree.
func (s tables) checkUIDs(t *testing.T, d tsd, logs string) {
	t.Helper()
	forward, reverse := s.uidRows(t)
	if want := 3*raceNames + 2; len(forward) != want {
		t.Errorf("%d names have a UID, want %d", len(forward), want)
	}
	owner := map[string]string{}
	for name, uid := range forward {
		kind, bare, _ := strings.Cut(name, " ")
		id := kind + " " + uid
		if other := owner[id]; other != "" {
			t.Errorf("%s UID %x belongs to %s and %s", kind, uid, name, other)
		}
		owner[id] = name
		if reverse[id] != bare {
			t.Errorf("%s has UID %x, whose name is %q", name, uid, reverse[id])
		}
		delete(reverse, id)
	}
	s.checkLeaks(t, d, reverse, logs)
}

// uidRows reads tsdb-uid: kind and name → UID; kind and UID → name.
func (s tables) uidRows(t testing.TB) (forward, reverse map[string]string) {
	t.Helper()
	forward, reverse = map[string]string{}, map[string]string{}
	for _, c := range s.cells(t, s.name+"-uid") {
		switch kind := c.qualifier; {
		case kind != "metrics" && kind != "tagk" && kind != "tagv" || c.row == "\x00":
		case c.family == "id":
			forward[kind+" "+c.row] = c.value
		default:
			reverse[kind+" "+c.row] = c.value
		}
	}
	return forward, reverse
}

// checkLeaks checks that the UIDs that no name uses come from races that the TSD lost.
func (s tables) checkLeaks(t *testing.T, d tsd, unused map[string]string, logs string) {
	t.Helper()
	leaked := s.leaked(t, d, logs)
	t.Logf("%d UIDs are unused, all of them leaked by the TSD", len(leaked))
	if diff := cmp.Diff(leaked, unused); diff != "" {
		t.Errorf("unused UIDs (-leaked by the TSD +in the table):\n%s", diff)
	}
}

// leaked returns the UIDs, with their names, that the TSD gave up because it lost a race: it leaves their reverse rows
// and logs that.
func (s tables) leaked(t *testing.T, d tsd, logs string) map[string]string {
	t.Helper()
	said, err := os.ReadFile(filepath.Join(logs, fmt.Sprintf("tsd-%s-%s", s.name, regexp.MustCompile(`\d+$`).FindString(d.Addr())), "tsd.log"))
	if err != nil {
		t.Fatal(err)
	}
	leaked := map[string]string{}
	for _, m := range leakLine.FindAllStringSubmatch(string(said), -1) {
		id, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		leaked[fmt.Sprintf("%s %s", m[2], []byte{byte(id >> 16), byte(id >> 8), byte(id)})] = m[3]
	}
	return leaked
}

// leakLine is what a TSD logs when it loses a race: the id, the kind and the name.
var leakLine = regexp.MustCompile(`Race condition: tried to assign ID (\d+) to (\w+):(\S+), but CAS failed`)
