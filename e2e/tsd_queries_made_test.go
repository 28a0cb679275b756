package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A queryMaker makes random points and random queries of /api/query over them. The same seed makes the same.
type queryMaker struct {
	rng         *rand.Rand
	aggregators []string
	tsuids      map[string][]string // by metric
}

// Metrics of the points, by what their values are.
const (
	queriedInts   = "q.ints"
	queriedFloats = "q.floats"
	queriedMixed  = "q.mixed"
	queriedCount  = "q.counter" // rises, with resets
	queriedMillis = "q.millis"  // has instants between seconds
	queriedSparse = "q.sparse"
)

func queriedMetrics() []string {
	return []string{queriedInts, queriedFloats, queriedMixed, queriedCount, queriedMillis, queriedSparse}
}

// queriedSpan is how long after epoch there are points, in seconds: rows of four hours.
const queriedSpan = 3*3600 + 900

// points makes series of every metric: with different tags, steps and gaps, through several rows.
func (m *queryMaker) points() (points []tsdPoint) {
	for _, metric := range queriedMetrics() {
		for host := range 5 {
			tags := map[string]string{"host": "h" + strconv.Itoa(host), "dc": []string{"lga", "sjc"}[host%2]}
			if host == 4 {
				delete(tags, "dc")
			}
			if host%2 == 0 {
				tags["cpu"] = strconv.Itoa(host / 2)
			}
			points = append(points, m.series(metric, tags)...)
		}
	}
	return points
}

func (m *queryMaker) series(metric string, tags map[string]string) (points []tsdPoint) {
	step := []int64{10, 30, 60, 60, 97, 300}[m.rng.IntN(6)]
	if metric == queriedSparse {
		step = 1700
	}
	counter := m.rng.Int64N(1000)
	for at := m.rng.Int64N(step); at < queriedSpan; at += step {
		if m.rng.IntN(12) == 0 {
			at += step * m.rng.Int64N(20) // a gap
		}
		stamp := epoch.Unix() + at
		if metric == queriedMillis {
			stamp = stamp*1000 + m.rng.Int64N(1000)
		}
		points = append(points, tsdPoint{Metric: metric, Timestamp: stamp, Value: m.value(metric, &counter), Tags: tags})
	}
	return points
}

func (m *queryMaker) value(metric string, counter *int64) json.Number {
	integer := func() json.Number {
		span := []int64{10, 200, 40_000, 1 << 33, 1 << 54}[m.rng.IntN(5)]
		return json.Number(strconv.FormatInt(m.rng.Int64N(2*span)-span, 10))
	}
	float := func() json.Number {
		f := []float64{m.rng.Float64(), float64(m.rng.IntN(1000)) / 8, m.rng.NormFloat64() * 1e9, math.Exp(m.rng.NormFloat64() * 30)}[m.rng.IntN(4)]
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	}
	switch metric {
	case queriedInts, queriedSparse:
		return integer()
	case queriedFloats:
		return float()
	case queriedCount:
		if *counter += m.rng.Int64N(100); m.rng.IntN(25) == 0 {
			*counter = m.rng.Int64N(50)
		}
		return json.Number(strconv.FormatInt(*counter, 10))
	}
	if m.rng.IntN(2) == 0 {
		return integer()
	}
	return float()
}

// madeQuery is the JSON of a query.
type madeQuery map[string]any

func (q madeQuery) String() string {
	text, err := json.Marshal(q)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// query makes a query.
func (m *queryMaker) query() madeQuery {
	start := epoch.Unix() + m.rng.Int64N(queriedSpan) - 600
	end := start + 1 + m.rng.Int64N([]int64{120, 1800, 7200, queriedSpan + 1200}[m.rng.IntN(4)])
	q := madeQuery{"start": start, "end": end}
	switch m.rng.IntN(4) {
	case 0:
		q["start"], q["end"] = start*1000+m.rng.Int64N(1000), end*1000+m.rng.Int64N(1000)
	case 1:
		q["end"] = fmt.Sprintf("%d.%03d", end, m.rng.IntN(1000))
	}
	if m.rng.IntN(2) == 0 {
		q["msResolution"] = true
	}
	if m.rng.IntN(4) == 0 {
		q["showTSUIDs"] = true
	}
	if m.rng.IntN(8) == 0 {
		q["timezone"] = []string{"America/Denver", "Asia/Kathmandu", "UTC", "Australia/Lord_Howe"}[m.rng.IntN(4)]
		q["useCalendar"] = m.rng.IntN(2) == 0
	}
	var subs []any
	for range 1 + m.rng.IntN(2)*m.rng.IntN(3) {
		subs = append(subs, m.sub())
	}
	q["queries"] = subs
	return q
}

func (m *queryMaker) sub() map[string]any {
	metrics := queriedMetrics()
	s := map[string]any{"aggregator": m.aggregator(), "metric": metrics[m.rng.IntN(len(metrics))]}
	if len(m.tsuids) > 0 && m.rng.IntN(8) == 0 { // of one metric
		of := m.tsuids[s["metric"].(string)]
		s["tsuids"] = []string{of[m.rng.IntN(len(of))], of[m.rng.IntN(len(of))]}
		delete(s, "metric")
	}
	if m.rng.IntN(3) > 0 {
		s["downsample"] = m.downsample()
	}
	if m.rng.IntN(3) == 0 {
		s["rate"] = true
		if m.rng.IntN(2) == 0 {
			options := map[string]any{"counter": m.rng.IntN(3) > 0}
			if m.rng.IntN(2) == 0 {
				options["counterMax"] = []int64{1000, 65535, math.MaxInt64}[m.rng.IntN(3)]
			}
			if m.rng.IntN(2) == 0 {
				options["resetValue"] = m.rng.IntN(30)
			}
			if m.rng.IntN(3) == 0 {
				options["dropResets"] = true
			}
			s["rateOptions"] = options
		}
	}
	var filters []any
	for range m.rng.IntN(3) {
		filters = append(filters, m.filter())
	}
	if filters != nil {
		s["filters"] = filters
	}
	if m.rng.IntN(6) == 0 {
		s["explicitTags"] = true
	}
	return s
}

func (m *queryMaker) aggregator() string {
	if m.rng.IntN(3) == 0 {
		return []string{"sum", "avg", "none", "max", "min", "count"}[m.rng.IntN(6)]
	}
	return m.aggregators[m.rng.IntN(len(m.aggregators))]
}

func (m *queryMaker) downsample() string {
	interval := []string{"10s", "30s", "1m", "90s", "5m", "1h", "2h", "7s", "500ms", "1d", "0all", "1dc", "1hc", "30mc", "1wc", "1nc", "15s"}[m.rng.IntN(17)]
	function := m.aggregator()
	for function == "none" {
		function = m.aggregator()
	}
	fill := []string{"", "", "-none", "-nan", "-null", "-zero"}[m.rng.IntN(6)]
	return interval + "-" + function + fill
}

func (m *queryMaker) filter() map[string]any {
	key := []string{"host", "dc", "cpu"}[m.rng.IntN(3)]
	values := map[string][]string{"host": {"h0", "h1", "h2", "h3", "h4"}, "dc": {"lga", "sjc"}, "cpu": {"0", "1", "2"}}[key]
	value := func() string { return values[m.rng.IntN(len(values))] }
	kind := []string{"literal_or", "iliteral_or", "not_literal_or", "not_iliteral_or", "wildcard", "iwildcard", "regexp", "not_key", "wildcard"}[m.rng.IntN(9)]
	text := ""
	switch kind {
	case "literal_or", "not_literal_or":
		text = value() + []string{"", "|" + value()}[m.rng.IntN(2)]
	case "iliteral_or", "not_iliteral_or":
		text = strings.ToUpper(value()) + "|" + value()
	case "wildcard", "iwildcard":
		v := value()
		text = []string{"*", "*", v[:1] + "*", "*" + v[len(v)-1:], v[:1] + "*" + v[len(v)-1:]}[m.rng.IntN(5)]
	case "regexp":
		text = []string{".*", "[hls].*", "h[0-2]", value(), "^(" + value() + "|" + value() + ")$", "[^1]+"}[m.rng.IntN(6)]
	}
	return map[string]any{"tagk": key, "type": kind, "filter": text, "groupBy": m.rng.IntN(2) == 0}
}
