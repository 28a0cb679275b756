package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
)

// tsd is a client of a running OpenTSDB.
type tsd struct {
	*cluster.TSD
	client
}

// tsdSeries is one series of an answer of /api/query.
type tsdSeries struct {
	Metric string
	Tags   map[string]string
	TSUIDs []string
	DPs    [][2]json.Number // milliseconds, value
}

func (s tsdSeries) labels() string {
	ls := maps.Clone(s.Tags)
	ls["__name__"] = s.Metric
	return labelText(ls)
}

// Query sends a sub query, such as none:metric{host=*}. The error is the TSD's own.
func (d tsd) Query(t testing.TB, m string, from, to time.Time) ([]tsdSeries, error) {
	t.Helper()
	r := d.Get(t, "/api/query?"+url.Values{
		"m": {m}, "start": {fmt.Sprint(from.UnixMilli())}, "end": {fmt.Sprint(to.UnixMilli())},
		"ms": {"true"}, "arrays": {"true"}, "show_tsuids": {"true"},
	}.Encode())
	if r.status != http.StatusOK {
		return nil, fmt.Errorf("query %s: answer %.2000v", m, r)
	}
	var all []tsdSeries
	if err := json.Unmarshal(r.body, &all); err != nil {
		return nil, fmt.Errorf("query %s: %w in %.2000v", m, err, r)
	}
	return all, nil
}

// points returns the raw points of a metric as the TSD returns them.
func (d tsd) points(t testing.TB, metric string, from, to time.Time) (pointSet, error) {
	t.Helper()
	found, err := d.Query(t, "none:"+metric, from, to)
	if err != nil {
		return nil, err
	}
	all := pointSet{}
	for _, s := range found {
		key, last := s.labels(), int64(-1)
		if all[key] != nil {
			return nil, fmt.Errorf("series %s was returned twice", key)
		}
		for _, p := range s.DPs {
			at, err := p[0].Int64()
			if err != nil {
				return nil, err
			}
			v, err := p[1].Float64()
			if err != nil {
				return nil, err
			}
			if at <= last {
				return nil, fmt.Errorf("series %s: %d ms comes after %d", key, at, last)
			}
			last = at
			all.add(key, at, v)
		}
	}
	return all, nil
}

// mustPoints is points, but fails the test unless the TSD answers 200 at once.
func (d tsd) mustPoints(t testing.TB, metric string, from, to time.Time) pointSet {
	t.Helper()
	points, err := d.points(t, metric, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// tsdPoint is a data point of /api/put.
type tsdPoint struct {
	Metric    string            `json:"metric"`
	Timestamp int64             `json:"timestamp"` // seconds, or milliseconds above 32 bits
	Value     json.Number       `json:"value"`
	Tags      map[string]string `json:"tags"`
}

// Put writes points by HTTP and returns when HBase has them.
func (d tsd) Put(t testing.TB, points ...tsdPoint) {
	t.Helper()
	if err := d.put(t, points); err != nil {
		t.Fatal(err)
	}
}

func (d tsd) put(t testing.TB, points []tsdPoint) error {
	body, err := json.Marshal(points)
	if err != nil {
		return err
	}
	r, err := d.do(t.Context(), http.MethodPost, "/api/put?sync&details", map[string]string{"Content-Type": "application/json"}, body)
	if err != nil {
		return err
	}
	if r.status != http.StatusOK || !strings.Contains(string(r.body), `"failed":0`) {
		return fmt.Errorf("put: answer %v", r)
	}
	return nil
}

// jsonNumber returns a whole number as a TSD takes it.
func jsonNumber(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// Telnet sends lines as a collector does and fails the test if the TSD answers any of them. There
// is not an acknowledgement: the TSD has read the lines when Telnet returns and writes them a
// little later.
func (d tsd) Telnet(t testing.TB, lines ...string) {
	t.Helper()
	sendTelnet(t, d.Addr(), lines...)
}

// sendTelnet is Telnet for the server of an address.
func sendTelnet(t testing.TB, address string, lines ...string) {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: waitTimeout}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, strings.Join(lines, "\n")+"\nversion\n"); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	for {
		line, err := answer.ReadString('\n')
		switch {
		case err != nil:
			t.Fatalf("telnet: %v after %q", err, line)
		case strings.HasPrefix(line, "Built "): // the second line of version: all before it was dealt with
			return
		case !strings.Contains(line, " built at revision "):
			t.Errorf("telnet: the TSD answers %q", line)
		}
	}
}

// Suggest lists the names of a type (metrics, tagk, tagv) with a prefix, sorted.
func (d tsd) Suggest(t testing.TB, kind, prefix string) []string {
	t.Helper()
	var names []string
	d.getJSON(t, "/api/suggest?"+url.Values{"type": {kind}, "q": {prefix}, "max": {"10000"}}.Encode(), &names)
	slices.Sort(names)
	return names
}

// Lookup finds series by /api/search/lookup: labels as in result, sorted.
func (d tsd) Lookup(t testing.TB, m string) []string {
	t.Helper()
	var answer struct{ Results []tsdSeries }
	d.getJSON(t, "/api/search/lookup?"+url.Values{"m": {m}, "limit": {"1000"}}.Encode(), &answer)
	var all []string
	for _, s := range answer.Results {
		all = append(all, s.labels())
	}
	slices.Sort(all)
	return all
}

// Annotate attaches a note to a series, given by its TSUID.
func (d tsd) Annotate(t testing.TB, tsuid string, at time.Time, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"startTime":%d,"tsuid":%q,"description":%q}`, at.Unix(), tsuid, text)
	d.Post(t, "/api/annotation", map[string]string{"Content-Type": "application/json"}, []byte(body)).ok(t)
}

func (d tsd) getJSON(t testing.TB, path string, data any) {
	t.Helper()
	r := d.Get(t, path).ok(t)
	if err := json.Unmarshal(r.body, data); err != nil {
		t.Fatalf("%s: %v in %v", path, err, r)
	}
}
