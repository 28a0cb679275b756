package limits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promstorage "github.com/prometheus/prometheus/storage"
)

// statement returns a query as the engine prepares it; step 0: at one instant.
func statement(t testing.TB, text string, span, step time.Duration) *parser.EvalStmt {
	t.Helper()
	expr, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s, err := prepare(expr, span, step)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func prepare(expr parser.Expr, span, step time.Duration) (*parser.EvalStmt, error) {
	start := time.Unix(1_700_000_000, 0)
	s := &parser.EvalStmt{Start: start, End: start.Add(span), Interval: step, LookbackDelta: 5 * time.Minute}
	var err error
	s.Expr, err = promql.PreprocessExpr(expr, s.Start, s.End, step)
	return s, err
}

func TestEstimateRefuses(t *testing.T) {
	const hour = time.Hour
	rep := strings.Repeat
	for _, c := range []struct {
		text       string
		span, step time.Duration
		want       string // part of the error; empty: none
	}{
		{`sum by (job) (rate(x[5m]))`, 24 * hour, time.Minute, ""},
		{`max_over_time(rate(x[5m])[30d:1m])`, 24 * hour, 5 * time.Minute, ""},
		{`quantile_over_time(0.9, x[1d])`, 24 * hour, time.Minute, ""},
		{`label_replace(up, "a", "$1-$2", "b", "(.*):(.*)")`, 0, 0, ""},
		{`count_over_time(vector(1)[100y:1ms])`, 0, 0, "--query.max-samples"},
		{`count_over_time(vector(1)[30d:1ms])`, 0, 0, "--query.max-samples"},
		{`count_over_time(vector(1)[100y:])`, 0, 0, "--query.max-samples"},
		{`count_over_time(vector(1)[50d:1s] @ 0)`, 0, 0, ""},
		{`count_over_time(vector(1)[100y:1ms] @ end() offset 1h)`, hour, time.Minute, "--query.max-samples"},
		{`vector(1)[100y:1ms]`, 0, 0, "--query.max-samples"},
		{`sum(max_over_time(max_over_time(vector(1)[50y:1m])[50y:30s]))`, 0, 0, "--query.max-samples"},
		{`max_over_time(max_over_time(x[1h])[99y:1m])`, 0, 0, "--query.max-samples"},
		{`x > bool on () (1 + (2 * count_over_time(vector(1)[30d:1ms])))`, 0, 0, "--query.max-samples"},
		{`topk(scalar(count_over_time(vector(1)[30d:1ms])), x)`, 0, 0, "--query.max-samples"},
		{`count_over_time(vector(1)[30d*100:1ms*2])`, 0, 0, "--query.max-samples"},
		{`count_over_time(vector(1)[1h:1s])`, 10000 * hour, hour, ""},
		// Each step of the outer function reads all of its range.
		{`sum_over_time(vector(1)[300d:1s])`, 10000 * time.Second, time.Second, "10001 steps of a function that looks at 25920001 points"},
		{`quantile_over_time(0.5, vector(1)[20d:1s])`, 10000 * time.Second, time.Second, "--query.max-samples"},
		{`max_over_time(max_over_time(vector(1)[10d:1s])[10d:1s])`, 0, 0, "--query.max-samples"},
		// A value that doubles with each label_replace.
		{rep(`label_replace(`, 30) + "x" + rep(`, "a", "$1$1", "a", "(.*)")`, 30), 0, 0, "label values"},
		{rep(`label_join(`, 30) + "x" + rep(`, "a", "", "a", "a", "a")`, 30), 0, 0, "label values"},
		{`label_replace(x, "a", "` + rep("$1", 2000) + `", "a", "(.*)")`, 0, 0, "label values"},
		{`label_join(x, "a", "` + rep("-", 100_000) + `", ` + rep(`"a", `, 20) + `"a")`, 0, 0, "label values"},
		{`label_replace(x, "a", "$1", "a", "(a{1000}b{1000}){30}")`, 0, 0, "regular expression"},
	} {
		_, err := Estimate(statement(t, c.text, c.span, c.step), Options{MaxSamples: 50_000_000})
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrCost) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.100s over %v: %v, want %q", c.text, c.span, err, c.want)
		}
	}
}

// The cost of a selector's series is charged to the reads of that selector.
func TestReader(t *testing.T) {
	s := statement(t, `sum(rate(x[5m])) + count_over_time(y[1d:1s]) + label_replace(z, "a", "`+strings.Repeat("b", 1000)+`", "c", "(.*)")`, time.Hour, time.Minute)
	cost, err := Estimate(s, Options{MaxSamples: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64((86400 + 3600 + 1) * stepBytes); cost.Fixed != want {
		t.Errorf("fixed cost %d, want %d", cost.Fixed, want)
	}
	want := map[string]int64{
		"x": 61*pointBytes + seriesBytes,
		"y": (86400+3600+1)*pointBytes + seriesBytes,
		"z": 61*pointBytes + seriesBytes + 1000,
	}
	parser.Inspect(s.Expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			got, err := cost.Of(v.LabelMatchers).Series(1)
			if err != nil || got != want[v.Name] {
				t.Errorf("a series of %s costs %d, %v, want %d", v.Name, got, err, want[v.Name])
			}
			// No more points than the engine may hold.
			if got, _ := cost.Of(v.LabelMatchers).Series(1000); got > 1_000_000*pointBytes+1000*(seriesBytes+1000) {
				t.Errorf("1000 series of %s cost %d", v.Name, got)
			}
		}
		return nil
	})
	if got, err := (*Cost)(nil).Of(nil).Series(10); got != 0 || err != nil {
		t.Errorf("without a cost: %d, %v", got, err)
	}
}

// A function reads a sample once for each window that contains it, and cannot be ended within a
// series.
func TestReaderSamples(t *testing.T) {
	for _, c := range []struct {
		text    string
		samples int
		ok      bool
	}{
		{`quantile_over_time(0.9, x[1d])`, 100_000, true},
		{`quantile_over_time(0.9, x[1d])`, 10_000_000, false},
		{`quantile_over_time(scalar(y), x[1d] @ 0)`, 10_000_000, false},
		{`sum_over_time(x[1m])`, 10_000_000, true},
		{`x`, 10_000_000, true},
	} {
		s := statement(t, c.text, 1000*time.Minute, time.Minute)
		cost, err := Estimate(s, Options{MaxSamples: 50_000_000})
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(s.Expr, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok && v.Name == "x" {
				if err := cost.Of(v.LabelMatchers).Samples(c.samples); (err == nil) != c.ok {
					t.Errorf("%s with %d samples: %v", c.text, c.samples, err)
				}
			}
			return nil
		})
	}
	s := statement(t, `label_replace(x, "a", "$1", "b", "(a{900}){9}")`, 0, 0)
	cost, err := Estimate(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cost.Of(nil).Series(100_000); !errors.Is(err, ErrCost) {
		t.Errorf("a dear label_replace of many series: %v", err)
	}
	if _, err := cost.Of(nil).Series(10); err != nil {
		t.Errorf("a dear label_replace of few series: %v", err)
	}
}

func TestShort(t *testing.T) {
	for text, want := range map[string]bool{
		"1 + 1": true, "vector(time())": true, "x": false, "count_over_time(vector(1)[1h:1s])": true, "count_over_time(vector(1)[1h:1ms])": false, `rate(x[5m])`: false,
	} {
		cost, err := Estimate(statement(t, text, 0, 0), Options{MaxSamples: 50_000_000})
		if err != nil || cost.Short() != want {
			t.Errorf("%s: %v, short %v, want %v", text, err, cost.Short(), want)
		}
	}
}

func TestCostOfContext(t *testing.T) {
	if c := From(t.Context()); c != nil {
		t.Errorf("a cost out of nowhere: %v", c)
	}
	c := new(Cost)
	if got := From(With(t.Context(), c)); got != c {
		t.Errorf("got %p, want %p", got, c)
	}
}

// expression makes a query from data: each byte wraps one more construct around the query so far.
func expression(data []byte) string {
	durations := []string{"1ms", "1s", "59s", "1m", "1h", "1d", "1w", "1y", "100y", "1m+1s", "2*1d"}
	text := "vector(1)"
	for i := 0; i+2 < len(data) && len(text) < 4000; i += 3 {
		a, b := durations[int(data[i+1])%len(durations)], durations[int(data[i+2])%len(durations)]
		switch data[i] % 16 {
		case 0:
			text = fmt.Sprintf("count_over_time((%s)[%s:%s])", text, a, b)
		case 1:
			text = fmt.Sprintf("sum_over_time((%s)[%s:%s] offset 1h)", text, a, b)
		case 2:
			text = fmt.Sprintf("quantile_over_time(time() %% 1, (%s)[%s:%s] @ 0)", text, a, b)
		case 3:
			text = fmt.Sprintf("sum(%s)", text)
		case 4:
			text = fmt.Sprintf("(%s) + (%s)", text, text)
		case 5:
			text = fmt.Sprintf("label_replace(%s, \"a\", \"$1$1x\", \"a\", \"(.*)\")", text)
		case 6:
			text = fmt.Sprintf("label_join(%s, \"a\", \"%s\", \"a\", \"a\")", text, a)
		case 7:
			text = fmt.Sprintf("count_values(\"v\", %s)", text)
		case 8:
			text = fmt.Sprintf("absent(%s)", text)
		case 9:
			text = fmt.Sprintf("topk(5, %s)", text)
		case 10:
			text = fmt.Sprintf("-(%s)", text)
		case 11:
			text = fmt.Sprintf("(%s) or vector(time())", text)
		case 12:
			text = fmt.Sprintf("vector(scalar(%s))", text)
		case 13:
			text = fmt.Sprintf("absent_over_time((%s)[%s:])", text, a)
		case 14:
			text = fmt.Sprintf("sort_desc(%s)", text)
		case 15:
			text = fmt.Sprintf("max_over_time((%s)[%s:%s] @ end())", text, a, b)
		}
	}
	return text
}

// The engine answers every query that is not refused in little time.
func FuzzEstimate(f *testing.F) {
	for i := range byte(16) {
		f.Add([]byte{i, 8, 0}, uint16(10))
		f.Add([]byte{i, 4, 1, 5, 0, 0, 0, 4, 2, i, 3, 3}, uint16(11000))
	}
	const samples = 100_000
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: samples, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		Parser:                   parser.NewParser(parser.Options{ExperimentalDurationExpr: true}),
	})
	empty := promstorage.QueryableFunc(func(int64, int64) (promstorage.Querier, error) { return promstorage.NoopQuerier(), nil })
	f.Fuzz(func(t *testing.T, data []byte, steps uint16) {
		text := expression(data)
		if Text(text) != nil {
			return
		}
		start := time.Unix(1_700_000_000, 0)
		q, err := engine.NewRangeQuery(t.Context(), empty, nil, text, start, start.Add(time.Duration(steps)*time.Second), time.Second)
		if err != nil {
			return
		}
		defer q.Close()
		cost, err := Estimate(q.Statement().(*parser.EvalStmt), Options{MaxSamples: samples})
		if err != nil {
			return
		}
		if cost.Fixed < 0 {
			t.Errorf("%s: fixed cost %d", text, cost.Fixed)
		}
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		q.Exec(ctx)
		if took := time.Since(begin); took > 40*time.Second {
			t.Errorf("%s over %d steps ended after %v", text, steps, took)
		}
	})
}
