package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// rolledUp is a value of /api/rollup.
type rolledUp struct {
	tsdPoint
	Interval   string `json:"interval,omitempty"`
	Aggregator string `json:"aggregator,omitempty"`
	GroupBy    string `json:"groupByAggregator,omitempty"`
}

// line is the value as a line of telnet.
func (r rolledUp) line() string {
	word := r.Interval + "-" + r.Aggregator
	switch {
	case r.Interval == "":
		word = r.GroupBy
	case r.GroupBy != "":
		word += ":" + r.GroupBy
	}
	tags := ""
	for k, v := range r.Tags {
		tags += " " + k + "=" + v
	}
	return fmt.Sprintf("rollup %s %s %d %s%s", word, r.Metric, r.Timestamp, r.Value, tags)
}

// rollupConfig is tsd.rollups.config for tables with a name.
func rollupConfig(name string) string {
	interval := func(length, span string, more string) string {
		return fmt.Sprintf(`{"table":"%[1]s-%[2]s","preAggregationTable":"%[1]s-pre-%[2]s","interval":"%[2]s","rowSpan":"%[3]s"%[4]s}`, name, length, span, more)
	}
	return `{"aggregationIds":{"sum":0,"count":1,"min":2,"max":3},"intervals":[` +
		fmt.Sprintf(`{"table":"%[1]s","preAggregationTable":"%[1]s-pre","interval":"1m","rowSpan":"1h","defaultInterval":true},`, name) +
		interval("10m", "6h", "") + "," + interval("1h", "1d", "") + "," + interval("1d", "1n", "") + `]}`
}

// testTSDRollups puts rolled up values through a TSD and through the adapter, compares their cells, and
// asks both random queries that read them.
func testTSDRollups(t *testing.T, s tables) {
	config := rollupConfig(s.name)
	s.flags = []string{"--storage.rollups=" + config}
	s.create(t)
	a := s.startAdapter(t, "--opentsdb.listen-address=127.0.0.1:0")
	d := s.startTSD(t, false, append(withoutMeta(), "tsd.rollups.enable", "true", "tsd.rollups.config", config)...)
	port := tsd{client: newClient(a.opentsdbAddr(t))}
	seed := scale.Of[uint64](t, "seed of the random rollups", 1, 1, 1)
	m := &rollupMaker{queryMaker{rng: rand.New(rand.NewPCG(seed, 21))}}
	if err := json.Unmarshal(d.Get(t, "/api/aggregators").ok(t).body, &m.aggregators); err != nil {
		t.Fatal(err)
	}
	for some := range slices.Chunk(m.points(), 40) {
		d.Put(t, some...)
	}
	values := m.values()
	byTSD, byUs := slices.Clone(values), slices.Clone(values)
	for i := range values {
		byTSD[i].Metric, byUs[i].Metric = "tsd."+values[i].Metric, "our."+values[i].Metric
	}
	half := len(values) / 2
	for _, to := range []struct {
		d      tsd
		values []rolledUp
	}{{d, byTSD}, {port, byUs}, {d, values}} {
		for some := range slices.Chunk(to.values[:half], 40) {
			to.d.rollup(t, some)
		}
	}
	d.Telnet(t, rollupLines(byTSD[half:])...)
	d.Telnet(t, rollupLines(values[half:])...)
	sendTelnet(t, a.opentsdbAddr(t), rollupLines(byUs[half:])...)
	s.compareRollups(t, values)

	n, wrong, counts := scale.Of(t, "random queries of rollups", 300, 600, 5000), 0, map[string]int{}
	for i := range n {
		q := m.query()
		want, got := postQuery(t, d.client, q), postQuery(t, a.client, q)
		counts[fmt.Sprintf("%d", want.status)]++
		if want.status == http.StatusOK && string(want.body) == "[]" {
			counts["empty"]++
		}
		if want.status == http.StatusInternalServerError {
			continue // a defect of the TSD
		}
		if err := sameAnswers(want, got); err != nil {
			t.Errorf("query %d: %s: %v", i, q, err)
			if wrong++; wrong == 20 {
				t.Fatal("enough")
			}
		}
	}
	t.Logf("%d values, %d queries, answers of the TSD: %v", len(values), n, counts)
}

// compareRollups waits until all tables have the same cells under the metrics that the TSD and the adapter
// wrote, and under those that the queries ask for (q.), which the TSD wrote too.
func (s tables) compareRollups(t *testing.T, values []rolledUp) {
	t.Helper()
	var names []string
	for _, interval := range []string{"-10m", "-1h", "-1d", "-pre", "-pre-10m", "-pre-1h", "-pre-1d"} {
		names = append(names, s.name+interval)
	}
	uids := map[string]string{} // of metrics, by their bytes
	for _, c := range s.cells(t, s.name+"-uid") {
		if c.family == "name" && c.qualifier == "metrics" {
			uids[c.row] = c.value
		}
	}
	eventually(t, waitTimeout, "both have written the same", func() error {
		count := 0
		for _, name := range names {
			of := map[string][]string{}
			for _, c := range s.cells(t, name) {
				prefix, metric, _ := strings.Cut(uids[c.row[:3]], ".")
				if prefix == "q" {
					metric = "q." + metric
				}
				of[prefix] = append(of[prefix], fmt.Sprintf("%s %X %X %X", metric, c.row[3:], c.qualifier, c.value))
				count++
			}
			slices.Sort(of["tsd"])
			for _, other := range []string{"our", "q"} {
				slices.Sort(of[other])
				if d := cmp.Diff(of["tsd"], of[other]); d != "" {
					return fmt.Errorf("table %s, TSD and %s: %.2000s", name, other, d)
				}
			}
		}
		if count < len(values) {
			return fmt.Errorf("%d cells of %d values", count, len(values))
		}
		return nil
	})
}

func rollupLines(values []rolledUp) (lines []string) {
	for _, v := range values {
		lines = append(lines, v.line())
	}
	return lines
}

// rollup puts values by HTTP.
func (d tsd) rollup(t *testing.T, values []rolledUp) {
	t.Helper()
	body, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.do(t.Context(), http.MethodPost, "/api/rollup?sync&details", map[string]string{"Content-Type": "application/json"}, body)
	if err != nil || r.status != http.StatusOK || !strings.Contains(string(r.body), `"failed":0`) {
		t.Fatalf("rollup: answer %v, %v", r, err)
	}
}

// A rollupMaker makes random rolled up values and queries of them.
type rollupMaker struct{ queryMaker }

// rolledMetrics have values of all intervals, of 10 minutes, and of an hour.
func rolledIntervals() map[string][]string {
	return map[string][]string{queriedInts: {"10m", "1h", "1d"}, queriedMixed: {"10m"}, queriedFloats: {"1h"}}
}

// values makes values of the metrics, one in four of them of groups.
func (m *rollupMaker) values() (values []rolledUp) {
	lengths := map[string]int64{"10m": 600, "1h": 3600, "1d": 86400}
	aggregations := []string{"sum", "count", "min", "max"}
	type instant struct {
		metric, group string
		host          int
		at            int64
	}
	plain := map[instant]bool{} // of groups without an interval: a TSD takes either of two values of one
	for _, metric := range []string{queriedInts, queriedMixed, queriedFloats} {
		for _, interval := range rolledIntervals()[metric] {
			length := lengths[interval]
			for host := range 4 {
				tags := map[string]string{"host": "h" + strconv.Itoa(host), "dc": []string{"lga", "sjc"}[host%2]}
				for at := epoch.Unix() / length * length; at < epoch.Unix()+max(queriedSpan, 40*length); at += length {
					for _, aggregation := range aggregations {
						if m.rng.IntN(8) == 0 {
							continue
						}
						counter := m.rng.Int64N(1000)
						v := rolledUp{
							tsdPoint: tsdPoint{Metric: metric, Timestamp: at + m.rng.Int64N(length), Value: m.value(metric, &counter), Tags: tags},
							Interval: interval, Aggregator: aggregation,
						}
						if aggregation == "count" {
							v.Value = jsonNumber(m.rng.IntN(50))
						}
						if m.rng.IntN(4) == 0 {
							v.GroupBy = []string{"sum", "max"}[m.rng.IntN(2)]
							if m.rng.IntN(4) == 0 && interval == "10m" {
								v.Interval, v.Aggregator = "", ""
								one := instant{metric, v.GroupBy, host, v.Timestamp}
								if plain[one] {
									continue
								}
								plain[one] = true
							}
						}
						values = append(values, v)
					}
				}
			}
		}
	}
	m.rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values
}

// query makes a query of which some parts may be read from rollups.
func (m *rollupMaker) query() madeQuery {
	q := m.queryMaker.query()
	if m.rng.IntN(3) == 0 {
		q["end"] = epoch.Unix() + queriedSpan + m.rng.Int64N(40*86400)
	}
	for _, sub := range q["queries"].([]any) {
		s := sub.(map[string]any)
		s["metric"] = []string{queriedInts, queriedInts, queriedMixed, queriedFloats, queriedSparse}[m.rng.IntN(5)]
		interval := []string{"10m", "20m", "1h", "2h", "3h", "1d", "7d", "1dc", "5m", "1m"}[m.rng.IntN(10)]
		function := []string{"sum", "count", "min", "max", "avg", "zimsum", "mimmin", "mimmax", "dev", "p99"}[m.rng.IntN(10)]
		fill := []string{"", "", "-none", "-nan", "-null", "-zero"}[m.rng.IntN(6)]
		s["downsample"] = interval + "-" + function + fill
		// A TSD that falls back to points downsamples them to the interval of the rollup, of UTC, instead of
		// the query's, which is only the same where the two are.
		usages := []string{"ROLLUP_NOFALLBACK", "ROLLUP_RAW", "rollup_raw", "nonsense", ""}
		if slices.Contains([]string{"10m", "1h", "1d"}, interval) && q["useCalendar"] != true && function != "mimmin" && function != "mimmax" {
			usages = append(usages, "ROLLUP_FALLBACK_RAW", "ROLLUP_FALLBACK_RAW")
		}
		if usage := usages[m.rng.IntN(len(usages))]; usage != "" {
			s["rollupUsage"] = usage
		}
		if m.rng.IntN(5) == 0 {
			s["preAggregate"] = true
		}
		delete(s, "explicitTags") // which testTSDQueries asks for
	}
	return q
}
