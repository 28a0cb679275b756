package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// testTSDNewest: adapters acknowledge points that others correct or delete before they are put, or
// before a replay puts them again. All readers see what was acknowledged last, and a TSD never
// finds two values of an instant.
func testTSDNewest(t *testing.T, s tables) {
	s.create(t)
	d := s.startTSD(t, false, withoutMeta()...)
	port := "--opentsdb.listen-address=127.0.0.1:0"
	logging, through, buffered := s.startAdapter(t, port), s.startAdapter(t, port), s.startAdapter(t, "--write.mode=buffered")
	now := time.Now().UnixMilli()
	n := &newest{t: t, tsd: d, want: pointSet{}, hours: []int64{at(10), now}, adapters: []*adapter{logging, through, buffered}}

	for _, host := range []string{"replayed", "corrected", "removed", "kept"} {
		n.put(logging, host, 1.5)
	}
	n.waitTSD("the flush of what came by OpenTSDB's port")
	n.put(through, "replayed", 2.5)
	n.putTSD("corrected", 2.5)
	n.remove("removed")

	n.hours = []int64{now} // rows of other hours are put soon
	n.write(through, "acknowledged-later", 1.5)
	n.write(buffered, "acknowledged-later", 2.5)
	n.write(buffered, "acknowledged-earlier", 1.5)
	n.write(through, "acknowledged-earlier", 2.5)
	n.write(buffered, "corrected-while-held", 1.5)
	n.putTSD("corrected-while-held", 2.5)
	n.write(buffered, "removed-while-held", 1.5)
	n.write(through, "removed-while-held", 2.5)
	n.remove("removed-while-held")
	n.write(buffered, "held-after-removal", 1.5)
	n.write(through, "held-after-removal", 2.5)
	n.remove("held-after-removal")
	n.write(buffered, "held-after-removal", 3.5)
	if rows := metricOf(t, buffered.client, "tsdbridge_head_rows"); rows != 5 {
		t.Errorf("the buffered adapter holds %v rows back, want 5: this tests nothing", rows)
	}

	logging.Kill()
	logging.Restart(t)
	buffered.Kill()
	buffered.Restart(t)
	if points := metricOf(t, buffered.client, "tsdbridge_head_points_replayed_total"); points < 6 {
		t.Errorf("the killed adapter replays %v points, want at least 6: this tests nothing", points)
	}
	eventually(t, waitTimeout, "the flush of what was replayed", func() error {
		if rows := metricOf(t, logging.client, "tsdbridge_head_rows"); rows > 0 {
			return fmt.Errorf("%v rows are left", rows)
		}
		return nil
	})
	buffered.Stop(t)
	n.adapters = []*adapter{logging, through}
	n.check("after the flushes")
	buffered.Restart(t)
	n.adapters = []*adapter{buffered}
	n.check("restarted")
}

// newest is some adapters and a TSD on the tables, and the points that all of them must see.
type newest struct {
	t        *testing.T
	tsd      tsd
	adapters []*adapter
	hours    []int64 // an instant in each hour that is written
	want     pointSet
}

const newestMetric = "newest"

func newestLabels(host string) string { return keyText("__name__", newestMetric, "host", host) }

func (n *newest) add(host string, v float64) {
	for _, at := range n.hours {
		n.want.add(newestLabels(host), at, v)
	}
}

// points returns the puts of a value.
func (n *newest) points(host string, v float64) []tsdPoint {
	n.add(host, v)
	var all []tsdPoint
	for _, at := range n.hours {
		value := json.Number(strconv.FormatFloat(v, 'f', -1, 64))
		if at%1000 == 0 {
			// a TSD makes two cells of a second that it receives in seconds and in milliseconds
			at /= 1000
		}
		all = append(all, tsdPoint{Metric: newestMetric, Timestamp: at, Value: value, Tags: map[string]string{"host": host}})
	}
	return all
}

func (n *newest) putTSD(host string, v float64) { n.t.Helper(); n.tsd.Put(n.t, n.points(host, v)...) }

// put writes a value to an adapter's log, by OpenTSDB's port, and waits for the acknowledgement.
func (n *newest) put(a *adapter, host string, v float64) {
	n.t.Helper()
	body, err := json.Marshal(n.points(host, v))
	if err != nil {
		n.t.Fatal(err)
	}
	if r := newClient(a.opentsdbAddr(n.t)).Post(n.t, "/api/put", nil, body); r.status != http.StatusNoContent {
		n.t.Fatalf("put: %v", r)
	}
}

// write writes a value by remote write and waits for the acknowledgement.
func (n *newest) write(a *adapter, host string, v float64) {
	n.t.Helper()
	for _, at := range n.hours {
		n.want.write(n.t, a.client, samples(at, v), "__name__", newestMetric, "host", host)
	}
}

// remove has the TSD delete the rows of a series, and waits until they are gone, since the TSD
// answers before HBase has deleted them.
func (n *newest) remove(host string) {
	n.t.Helper()
	m := "none:" + newestMetric + "{host=" + host + "}"
	for _, at := range n.hours {
		from, to := time.UnixMilli(at), time.UnixMilli(at+1000)
		n.tsd.remove(n.t, m, from, to)
		n.want.remove(newestLabels(host), at)
		eventually(n.t, waitTimeout, "deletion by the TSD", func() error {
			found, err := n.tsd.Query(n.t, m, from, to)
			if err == nil && len(found) > 0 {
				err = fmt.Errorf("there is still %v", found)
			}
			return err
		})
	}
}

// waitTSD waits until the TSD returns the expected points.
func (n *newest) waitTSD(when string) {
	n.t.Helper()
	n.want.wait(n.t, when, func() (pointSet, error) { return n.seen(n.tsd.points) })
}

// check checks that all readers see the expected points, without waiting.
func (n *newest) check(when string) {
	n.t.Helper()
	got, err := n.seen(n.tsd.points)
	if err != nil {
		n.t.Errorf("%s: TSD: %v", when, err)
	}
	n.want.check(n.t, when+": TSD", got)
	for i, a := range n.adapters {
		got, _ := n.seen(func(t testing.TB, metric string, from, to time.Time) (pointSet, error) {
			return ourPoints(t, a.client, metric, from, to), nil
		})
		n.want.check(n.t, fmt.Sprintf("%s: adapter %d", when, i), got)
	}
}

// seen returns what a reader has of all hours.
func (n *newest) seen(read func(t testing.TB, metric string, from, to time.Time) (pointSet, error)) (pointSet, error) {
	all := pointSet{}
	for _, at := range []int64{epoch.UnixMilli(), time.Now().UnixMilli()} {
		hour := time.UnixMilli(at)
		points, err := read(n.t, newestMetric, hour.Add(-time.Hour), hour.Add(time.Hour))
		if err != nil {
			return nil, err
		}
		all.join(points)
	}
	return all, nil
}

// join adds the points of another set.
func (s pointSet) join(o pointSet) {
	for labels, of := range o {
		if s[labels] == nil {
			s[labels] = map[int64]string{}
		}
		maps.Copy(s[labels], of)
	}
}

// remove deletes the rows that a sub query selects.
func (d tsd) remove(t testing.TB, m string, from, to time.Time) {
	t.Helper()
	path := "/api/query?" + url.Values{"m": {m}, "start": {fmt.Sprint(from.UnixMilli())}, "end": {fmt.Sprint(to.UnixMilli())}}.Encode()
	r, err := d.do(t.Context(), http.MethodDelete, path, nil, nil)
	if err != nil || r.status != http.StatusOK {
		t.Fatalf("delete %s: %v %v", m, r, err)
	}
}

// metricOf returns the value of a metric without labels in /metrics.
func metricOf(t testing.TB, c client, name string) float64 {
	t.Helper()
	for line := range strings.Lines(string(c.Get(t, "/metrics").ok(t).body)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
