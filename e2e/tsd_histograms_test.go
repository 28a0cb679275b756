package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// madeHistogram is an element of /api/histogram.
type madeHistogram struct {
	Metric    string            `json:"metric"`
	Timestamp int64             `json:"timestamp"`
	Tags      map[string]string `json:"tags"`
	Buckets   map[string]int64  `json:"buckets"`
	Underflow int64             `json:"underflow"`
	Overflow  int64             `json:"overflow"`
}

// line is the histogram as telnet has it.
func (h *madeHistogram) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "histogram %s %d u=%d:o=%d", h.Metric, h.Timestamp, h.Underflow, h.Overflow)
	for bounds, count := range h.Buckets {
		fmt.Fprintf(&b, ":%s=%d", bounds, count)
	}
	for key, value := range h.Tags {
		b.WriteString(" " + key + "=" + value)
	}
	return b.String() + "\n"
}

// histograms makes series of two metrics, whose times come in seconds and in milliseconds.
func (m *queryMaker) histograms() (all []madeHistogram) {
	for _, metric := range []string{"h.seconds", "h.millis"} {
		for host := range 5 {
			tags := map[string]string{"host": "h" + strconv.Itoa(host), "dc": []string{"lga", "sjc"}[host%2]}
			step := []int64{30, 60, 97, 300, 1700}[m.rng.IntN(5)]
			for at := m.rng.Int64N(step); at < queriedSpan; at += step {
				stamp := epoch.Unix() + at
				if metric == "h.millis" {
					stamp = stamp*1000 + m.rng.Int64N(1000)
				}
				all = append(all, m.histogram(metric, stamp, tags))
			}
		}
	}
	return all
}

func (m *queryMaker) histogram(metric string, stamp int64, tags map[string]string) madeHistogram {
	count := func() int64 { return m.rng.Int64N([]int64{3, 20, 300, 70_000, 1 << 33, 1 << 62}[m.rng.IntN(6)]) }
	h := madeHistogram{metric, stamp, tags, map[string]int64{}, count(), count()}
	for n := 1 + m.rng.IntN(5); n > 0; n-- {
		lower := []float32{0, 1.75, 0.1, -2.5, 1e7, 1e-4, 3}[m.rng.IntN(7)]
		h.Buckets[fmt.Sprintf("%v,%v", lower, lower+[]float32{1, 1.75, 1e9}[m.rng.IntN(3)])] = count()
	}
	return h
}

// histogramQuery makes a query of histograms.
func (m *queryMaker) histogramQuery() madeQuery {
	q := m.query()
	s := map[string]any{"aggregator": []string{"sum", "none"}[m.rng.IntN(2)], "metric": []string{"h.seconds", "h.millis"}[m.rng.IntN(2)]}
	if m.rng.IntN(4) > 0 {
		s["percentiles"] = []any{m.rng.IntN(101), float32(m.rng.IntN(1000)) / 10}[:1+m.rng.IntN(2)]
	}
	if s["percentiles"] == nil || m.rng.IntN(3) == 0 {
		s["showHistogramBuckets"] = true
	}
	if m.rng.IntN(2) == 0 {
		s["downsample"] = []string{"30s", "1m", "7s", "5m", "1h", "500ms", "0all", "1hc", "30mc"}[m.rng.IntN(9)] + "-sum"
	}
	for range m.rng.IntN(3) {
		f := m.filter()
		if f["tagk"] != "cpu" {
			filters, _ := s["filters"].([]any)
			s["filters"] = append(filters, f)
		}
	}
	if m.rng.IntN(8) == 0 {
		s["rate"] = true
	}
	q["queries"] = []any{s}
	return q
}

// testTSDHistograms has a TSD and the adapter take histograms, over HTTP and telnet, and asks both random queries over the
// same tables.
func testTSDHistograms(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0", "--opentsdb.histogram-codecs=SimpleHistogramDecoder=5")
	d := s.startTSD(t, false, append(withoutMeta(), "tsd.core.histograms.config", `{"net.opentsdb.core.SimpleHistogramDecoder":5}`)...)
	ports := []client{d.client, newClient(a.opentsdbAddr(t))}
	m := &queryMaker{rng: rand.New(rand.NewPCG(scale.Of[uint64](t, "seed of the random histograms", 1, 1, 1), 21)), aggregators: []string{"sum"}}
	all := m.histograms()
	m.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for some := range slices.Chunk(all, 30) {
		to := m.rng.IntN(len(ports))
		if m.rng.IntN(3) == 0 {
			sendLines(t, []string{d.Addr(), a.opentsdbAddr(t)}[to], some)
			continue
		}
		body, err := json.Marshal(some)
		if err != nil {
			t.Fatal(err)
		}
		if r := ports[to].Post(t, "/api/histogram?sync", nil, body); r.status != http.StatusNoContent {
			t.Fatalf("answer %.500v", r)
		}
	}
	for _, metric := range []string{"h.seconds", "h.millis"} {
		whole := madeQuery{"start": epoch.Unix(), "end": epoch.Unix() + queriedSpan, "msResolution": true, "queries": []any{map[string]any{"aggregator": "none", "metric": metric, "showHistogramBuckets": true}}}
		eventually(t, waitTimeout, "both have all histograms of "+metric, func() error {
			want, got := postQuery(t, d.client, whole), postQuery(t, a.client, whole)
			if n := strings.Count(string(want.body), "UNDERFLOW"); n != 5 {
				return fmt.Errorf("the TSD has %d series", n)
			}
			return sameAnswers(want, got)
		})
	}
	n, wrong, counts := scale.Of(t, "random queries of histograms", 200, 400, 3000), 0, map[int]int{}
	for i := range n {
		q := m.histogramQuery()
		want, got := postQuery(t, d.client, q), postQuery(t, a.client, q)
		counts[want.status]++
		if want.status == http.StatusInternalServerError {
			continue // a defect of the TSD
		}
		if err := sameAnswers(want, got); err != nil {
			t.Errorf("query %d: %s: %v", i, q, err)
			if wrong++; wrong == 10 {
				t.Fatal("enough")
			}
		}
	}
	t.Logf("%d histograms, %d queries, statuses of the TSD: %v", len(all), n, counts)
}

// sendLines sends histograms by telnet, and waits until they are stored: the answer to version comes after them.
func sendLines(t *testing.T, addr string, all []madeHistogram) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range all {
		if _, err := conn.Write([]byte(all[i].line())); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write([]byte("version\n")); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 200)
	if n, err := conn.Read(said); err != nil || strings.Contains(string(said[:n]), "histogram") {
		t.Fatalf("answered %q, %v", said[:n], err)
	}
}
