package queries_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/retention"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const rollupConfig = `{"aggregationIds":{"sum":0,"count":1,"MIN":2,"max":3},"intervals":[
	{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true},
	{"table":"10m","preAggregationTable":"pre-10m","interval":"10m","rowSpan":"6h"},
	{"table":"1h","preAggregationTable":"pre-1h","interval":"1h","rowSpan":"1d"}]}`

// startRolled starts a server over an empty store with rollup tables.
func startRolled(t *testing.T) *httpClient {
	t.Helper()
	c, _ := startRolledStore(t, func(*store.Options) {})
	return c
}

func startRolledStore(t *testing.T, change func(*store.Options)) (*httpClient, *store.Store) {
	t.Helper()
	return startRolledServer(t, rollupConfig, change, func(*opentsdb.Options) {})
}

func startRolledServer(t *testing.T, text string, change func(*store.Options), with func(*opentsdb.Options)) (*httpClient, *store.Store) {
	t.Helper()
	config, err := rollup.ParseConfig([]byte(text), aggregate.Exists)
	if err != nil {
		t.Fatal(err)
	}
	config.ShareWith("tsdb")
	tables := storetest.Tables()
	for _, name := range config.Tables() {
		tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData}})
	}
	store := storetest.Open(t, kv.NewMem(tables...), func(o *store.Options) { o.Rollups = config }, change)
	o := tsdtest.Options("127.0.0.1:0")
	o.Points, o.Store, o.Catalog, o.Names, o.Layout = store, store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.AllowDelete, o.Deleter, o.Rollups, o.Annotations, o.Metadata, o.Documents = true, store, store.Rollups(), store.Annotations(), store.Documents(), store.Documents()
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	with(&o)
	s, err := opentsdb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &httpClient{s.Addr()}, store
}

// httpClient sends requests to a server.
type httpClient struct{ address string }

func (c *httpClient) send(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+c.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, _, text := tsdtest.Exchange(t, r)
	return status, text
}

// lines sends lines of telnet and returns the answers.
func (c *httpClient) lines(t *testing.T, lines ...string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.Join(lines, "\n")+"\nexit\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// rolled is a value of /api/rollup in JSON; more are members of it.
func rolled(interval, aggregation string, at int64, value, more string) string {
	return fmt.Sprintf(`{"metric":"m","timestamp":%d,"value":%s,"tags":{"host":"a"},"interval":"%s","aggregator":"%s"%s}`, at, value, interval, aggregation, more)
}

// TestRollupPuts puts values of which many are refused, each in a TSD's words.
func TestRollupPuts(t *testing.T) {
	c := startRolled(t)
	const at = 1356998400
	for _, p := range []struct{ value, want string }{
		{rolled("1h", "sum", at, "42", ""), ""},
		{rolled("1h", "min", at, `"1.5"`, ""), ""},
		{rolled("10m", "sum", at, "42", `,"groupByAggregator":"sum"`), ""},
		{`{"metric":"m","timestamp":1356998401,"value":1,"tags":{"host":"a"},"groupByAggregator":"MAX"}`, ""},
		{rolled("1h", "sum", at*1000, "1", ""), "bad timestamp=1356998400000 when trying to add value=[1]/0 to metric=m, tags={host=a}"},
		{rolled("2h", "sum", at, "1", ""), "Unexpected exception"},
		{rolled("1h", "avg", at, "1", ""), "No ID found mapping to aggregator: avg"},
		{rolled("1h", "", at, "1", ""), "Missing aggregator"},
		{rolled("", "sum", at, "1", ""), "Missing interval"},
		{rolled("1m", "sum", at, "1", ""), "the interval 1m stands for the points themselves: put them"},
		{rolled("1h", "sum", at, "1", `,"groupByAggregator":"nope"`), "Invalid group by aggregator nope with metric m {_aggregate=NOPE, host=a}"},
		{rolled("1h", "sum", at, "1", `,"groupByAggregator":"avg"`), "Derived group by aggregations are not allowed avg with metric m {_aggregate=AVG, host=a}"},
		{strings.Replace(rolled("1h", "sum", at, "1", `,"groupByAggregator":"sum"`), `"host":"a"`, `"host":"a","_aggregate":"MAX"`, 1), "Given tag value for _aggregate of MAX did not match the group by aggregator of sum for m {_aggregate=MAX, host=a}"},
		{rolled("1h", "sum", at, `"NaN"`, ""), "Unable to parse value to a number"},
		{rolled("1h", "sum", at, `"x"`, ""), "Unable to parse value to a number"},
		{rolled("1h", "sum", 0, "1", ""), "Invalid timestamp"},
		{strings.Replace(rolled("1h", "sum", at, "1", ""), `"m"`, `"m m"`, 1), `Invalid metric name ("m m"): illegal character:  `},
		{"null", "Unexpected null datapoint encountered in set."},
	} {
		want := `{"errors":[],"failed":0,"success":1}`
		status := 200
		if p.want != "" {
			status = 400
		}
		got, text := c.send(t, "POST", "/api/rollup?details", "["+p.value+"]")
		if got != status || p.want == "" && text != want || !strings.Contains(text, jsonText(p.want)) {
			t.Errorf("%s: %d %s, want %s", p.value, got, text, p.want)
		}
	}
	for _, body := range []string{"", "[]", "7", `[{"metric":"m"`, `[{"metric":{}}]`, `[{"interval":[[[]]]}]`} {
		if status, text := c.send(t, "POST", "/api/rollup", body); status != 400 {
			t.Errorf("%q: %d %s", body, status, text)
		}
	}
	if status, _ := c.send(t, "GET", "/api/rollup", ""); status != 405 {
		t.Errorf("GET: %d", status)
	}
	got := c.lines(t, "rollup", "rollup 1h-sum m", "rollup 1h-sum:sum m 1356998400 7.5 host=b", "rollup max m 1356998460 7 host=b", "rollup 3h-sum m 1356998400 7 host=b",
		"rollup 1h-avg m 1356998400 7 host=b", "rollup 1h-sum m 1356998400 x host=b", "rollup 1h-sum m 1356998400 7 host")
	if d := cmp.Diff(`rollup: illegal argument: not enough arguments (need least 7, got 0)
rollup: illegal argument: not enough arguments (need least 7, got 2)
rollup: No such rollup: No rollups configured for the interval: 3h
rollup: illegal argument: No ID found mapping to aggregator: avg
rollup: invalid value: Invalid character 'x' in x
rollup: illegal argument: invalid tag: host
`, got); d != "" {
		t.Errorf("telnet: %s", d)
	}
}

func jsonText(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }

// TestRollupQueries reads rolled up values where a downsampling consists of their intervals.
func TestRollupQueries(t *testing.T) {
	c := startRolled(t)
	const at = 1356998400
	c.send(t, "POST", "/api/put", `[{"metric":"m","timestamp":1356998410,"value":1,"tags":{"host":"a"}},{"metric":"m","timestamp":1357002010,"value":2,"tags":{"host":"a"}}]`)
	values := []string{
		rolled("1h", "sum", at, "100", ""), rolled("1h", "count", at, "4", ""), rolled("1h", "max", at, "5", ""), // corrected below, in another type
		rolled("1h", "max", at, "50.5", ""), rolled("1h", "sum", at+7200, "10", ""), rolled("1h", "count", at+7200, "5", ""),
		rolled("10m", "sum", at+600, "7", ""), rolled("1h", "sum", at, "1000", `,"groupByAggregator":"sum"`),
		`{"metric":"m","timestamp":1356998401,"value":3,"tags":{"host":"a"},"groupByAggregator":"SUM"}`,
	}
	if status, text := c.send(t, "POST", "/api/rollup", "["+strings.Join(values, ",")+"]"); status != 204 {
		t.Fatal(status, text)
	}
	ask := func(m string) string {
		t.Helper()
		_, text := c.send(t, "GET", "/api/query?start=1356998400&end=1357009200&m="+m, "")
		return text
	}
	answer := func(more, dps string) string {
		return `[{"metric":"m","tags":{` + more + `"host":"a"},"aggregateTags":[],"dps":{` + dps + `}}]`
	}
	check := func(m, want string) {
		t.Helper()
		if got := ask(m); got != want {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
	check("sum:1h-sum:m", answer("", `"1356998400":100.0,"1357005600":10.0`))
	check("sum:1h-max:m", answer("", `"1356998400":50.5`))
	check("sum:1h-count:m", answer("", `"1356998400":4.0,"1357005600":5.0`))
	check("sum:1h-avg:m", answer("", `"1356998400":25.0,"1357005600":2.0`))
	check("sum:3h-avg:m", answer("", `"1356998400":12.222222222222221`))
	check("sum:2h-zimsum:m", answer("", `"1356998400":100.0,"1357005600":10.0`))
	check("sum:20m-sum:m", answer("", `"1356998400":7.0`))
	check("sum:1m-sum:m", answer("", `"1356998400":1.0,"1357002000":2.0`))
	check("sum:1h-sum:rollup_raw:m", answer("", `"1356998400":1.0,"1357002000":2.0`))
	check("sum:1h-min:m", "[]")
	check("sum:1h-min:rollup_fallback_raw:m", answer("", `"1356998400":1.0,"1357002000":2.0`))
	check("sum:1h-min:rollup_fallback:m", answer("", `"1356998400":1.0,"1357002000":2.0`))
	check("sum:1h-sum:pre-agg:m", answer(`"_aggregate":"SUM",`, `"1356998400":1000.0`))
	check("sum:pre-agg:m", answer(`"_aggregate":"SUM",`, `"1356998401":3`))
	check("sum:m", answer("", `"1356998410":1,"1357002010":2`))
	if got := ask("sum:1h-p99:m"); !strings.Contains(got, "No ID found mapping to aggregator: p99") {
		t.Errorf("p99: %s", got)
	}
	if got := ask("sum:1h-sum:m&show_query"); !strings.Contains(got, `"rollupTable":"1h"`) {
		t.Errorf("the echo is %s", got)
	}
	// a deletion takes the values of the intervals that lie within it
	if status, text := c.send(t, "DELETE", "/api/query?start=1356998400&end=1357001999999&m=sum:m", ""); status != 200 {
		t.Fatal(status, text)
	}
	check("sum:1h-sum:m", answer("", `"1357005600":10.0`))
	check("sum:20m-sum:m", "[]")
	check("sum:m", answer("", `"1357002010":2`))
}

// TestSplitRollups: where the values of intervals may not be there yet, queries read points.
func TestSplitRollups(t *testing.T) {
	const at = 1356998400
	text := strings.Replace(rollupConfig, `"interval":"1h",`, `"interval":"1h","delaySla":"2h",`, 1)
	c, _ := startRolledServer(t, text, func(*store.Options) {}, func(o *opentsdb.Options) {
		o.Rollup.Split, o.Now = true, func() time.Time { return time.Unix(at+4*3600+1800, 0) }
	})
	points := []string{}
	for minute := 30; minute < 300; minute += 30 { // 1, 2, 3 and so on
		points = append(points, fmt.Sprintf(`{"metric":"m","timestamp":%d,"value":%d,"tags":{"host":"a"}}`, at+minute*60, minute/30))
	}
	points = append(points, fmt.Sprintf(`{"metric":"m","timestamp":%d,"value":5,"tags":{"host":"new"}}`, at+4*3600))
	if status, text := c.send(t, "POST", "/api/put", "["+strings.Join(points, ",")+"]"); status != 204 {
		t.Fatal(status, text)
	}
	var values []string
	for hour := range 5 { // all wrong, so that it shows what is read
		values = append(values, rolled("1h", "sum", int64(at+3600*hour), "100", ""), rolled("1h", "count", int64(at+3600*hour), "10", ""), rolled("1h", "max", int64(at+3600*hour), "77", ""))
	}
	if status, text := c.send(t, "POST", "/api/rollup", "["+strings.Join(values, ",")+"]"); status != 204 {
		t.Fatal(status, text)
	}
	for m, want := range map[string]string{
		"sum:1h-sum:m{host=a}":   `"1356998400":100.0,"1357002000":100.0,"1357005600":9.0,"1357009200":13.0,"1357012800":17.0`,
		"sum:1h-count:m{host=a}": `"1356998400":10.0,"1357002000":10.0,"1357005600":2.0,"1357009200":2.0,"1357012800":2.0`,
		"sum:1h-max:m{host=a}":   `"1356998400":77.0,"1357002000":77.0,"1357005600":5.0,"1357009200":7.0,"1357012800":9.0`,
		"sum:1h-avg:m{host=a}":   `"1356998400":10.0,"1357002000":10.0,"1357005600":4.5,"1357009200":6.5,"1357012800":8.5`,
		"sum:4h-sum:m{host=a}":   `"1356998400":222.0,"1357012800":17.0`,
		"sum:1h-sum:m{host=new}": `"1357012800":5.0`,
	} {
		if _, got := c.send(t, "GET", "/api/query?start=1356998400&end=1357016399&m="+m, ""); !strings.HasSuffix(got, `"dps":{`+want+"}}]") {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
	// a query that ends before them reads values alone
	if _, got := c.send(t, "GET", "/api/query?start=1356998400&end=1357003000&m=sum:1h-sum:m", ""); !strings.HasSuffix(got, `"dps":{"1356998400":100.0,"1357002000":100.0}}]`) {
		t.Errorf("the closed hours: %s", got)
	}
}

// TestRollupsAfterRetention: rolled up values are found when the points of their time are gone.
func TestRollupsAfterRetention(t *testing.T) {
	c, store := startRolledStore(t, func(*store.Options) {})
	at := time.Now().Add(-10*24*time.Hour).Unix() / 3600 * 3600
	if status, text := c.send(t, "POST", "/api/put", fmt.Sprintf(`{"metric":"m","timestamp":%d,"value":1,"tags":{"host":"a"}}`, at)); status != 204 {
		t.Fatal(status, text)
	}
	if status, text := c.send(t, "POST", "/api/rollup", "["+rolled("1h", "sum", at, "100", "")+"]"); status != 204 {
		t.Fatal(status, text)
	}
	// New rules are applied to all hours. With rules from the start, a pass before the put would have been at this hour.
	store.SetRetentionRules([]retention.Rule{{Name: "all", Age: 48 * time.Hour, Matches: func(storage.Series) bool { return true }}})
	if err := store.DeleteByRules(t.Context()); err != nil {
		t.Fatal(err)
	}
	for m, want := range map[string]string{
		"sum:m":        "[]",
		"sum:1h-sum:m": fmt.Sprintf(`[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"%d":100.0}}]`, at),
	} {
		if _, got := c.send(t, "GET", fmt.Sprintf("/api/query?start=%d&end=%d&m=%s", at, at+7200, m), ""); got != want {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
}
