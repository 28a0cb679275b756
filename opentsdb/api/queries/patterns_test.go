package queries_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestPatternsTakeMemory: a regular expression that compiles to very much is refused, and what one takes
// is part of what its query may have.
func TestPatternsTakeMemory(t *testing.T) {
	const limit = 8 << 20
	shared := query.NewBudget(limit)
	server := "http://" + tsdtest.StartWith(t, func(o *opentsdb.Options) { o.Budget = shared })
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/put", `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	queryPattern := func(pattern string) (int, string) {
		quoted, err := json.Marshal(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return tsdtest.Ask(t, http.MethodPost, server+"/api/query", fmt.Sprintf(
			`{"start":1356998000,"end":1357000000,"queries":[{"metric":"m","aggregator":"sum","filters":[{"type":"regexp","tagk":"host","filter":%s}]}]}`, quoted))
	}
	if status, text := queryPattern(strings.Repeat("a", 33_000)); status != http.StatusBadRequest || !strings.Contains(text, "the pattern is too large") {
		t.Errorf("a pattern of 33 000 letters: %d %.300s", status, text)
	}
	if status, text := queryPattern(strings.Repeat("(a{1,1000}|b)", 25)); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, query.MemoryFlag) {
		t.Errorf("a pattern that takes more than the budget: %d %.300s", status, text)
	}
	other := shared.Open()
	if err := other.Take(limit / 2); err != nil {
		t.Fatal(err)
	}
	pattern := "a|" + strings.Repeat("(a{1,1000}|b)", 8)
	if status, text := queryPattern(pattern); status != http.StatusServiceUnavailable {
		t.Errorf("while others hold the memory: %d %.300s", status, text)
	}
	other.Close()
	if status, text := queryPattern(pattern); status != http.StatusOK || !strings.Contains(text, "1356998400") {
		t.Errorf("afterwards: %d %.300s", status, text)
	}
}

// hostsOf returns the hosts of the groups of an answer, in order.
func hostsOf(t *testing.T, answer string) string {
	t.Helper()
	var groups []struct{ Tags map[string]string }
	if err := json.Unmarshal([]byte(answer), &groups); err != nil {
		t.Fatalf("%v: %.300s", err, answer)
	}
	var hosts []string
	for _, g := range groups {
		hosts = append(hosts, g.Tags["host"])
	}
	slices.Sort(hosts)
	return strings.Join(hosts, " ")
}

// TestPatternsThatGoBack: look-around and references of Java's expressions work in the filters of
// every kind of query.
func TestPatternsThatGoBack(t *testing.T) {
	server := "http://" + tsdtest.StartWith(t, func(*opentsdb.Options) {})
	var points []string
	for _, host := range []string{"web01", "web02", "web11", "db-db", "db-web"} {
		points = append(points, fmt.Sprintf(`{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":%q}}`, host))
	}
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/put", "["+strings.Join(points, ",")+"]"); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	for pattern, want := range map[string]string{
		`^(?!web0).*`:         "db-db db-web web11",
		`^(?!(web|db)-?w)`:    "db-db web01 web02 web11",
		`^(\w+)-\1$`:          "db-db",
		`(?<=b)1`:             "web11",
		`(?<n>1)\k<n>`:        "web11",
		`^web(?>0|01)$`:       "",
		`^[a-z&&[^w]]+-`:      "db-db db-web",
		`^\w*+1`:              "",
		`(?x) ^ WEB (?i) # x`: "",
		`(?xi) ^ WEB # x`:     "web01 web02 web11",
	} {
		escaped := url.QueryEscape("sum:m{host=regexp(" + pattern + ")}")
		status, text := tsdtest.Ask(t, http.MethodGet, server+"/api/query?start=1356998000&end=1357000000&m="+escaped, "")
		if strings.ContainsAny(pattern, "{},=") || strings.Contains(pattern, " ") {
			status = 0
		}
		if status != 0 && (status != http.StatusOK || hostsOf(t, text) != want) {
			t.Errorf("m=%s: %d %.300s, want %s", pattern, status, text, want)
		}
		quoted, err := json.Marshal(pattern)
		if err != nil {
			t.Fatal(err)
		}
		status, text = tsdtest.Ask(t, http.MethodPost, server+"/api/query", fmt.Sprintf(
			`{"start":1356998000,"end":1357000000,"queries":[{"metric":"m","aggregator":"sum","filters":[{"type":"regexp","tagk":"host","filter":%s,"groupBy":true}]}]}`, quoted))
		if status != http.StatusOK || hostsOf(t, text) != want {
			t.Errorf("JSON %s: %d %.300s, want %s", pattern, status, text, want)
		}
	}
}

// TestPatternsTakeSteps: the steps of a query's regular expressions are those of all its values and
// sub queries together, and a query that has used them up is refused, never answered in part.
func TestPatternsTakeSteps(t *testing.T) {
	server := "http://" + tsdtest.StartWith(t, func(*opentsdb.Options) {})
	var points []string
	for n := range 40 {
		points = append(points, fmt.Sprintf(`{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"%s%d"}}`, strings.Repeat("a", 19), n))
	}
	points = append(points, `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"b"}}`)
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/put", "["+strings.Join(points, ",")+"]"); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	sub := func(pattern string) string {
		return fmt.Sprintf(`{"metric":"m","aggregator":"count","filters":[{"type":"regexp","tagk":"host","filter":%q}]}`, pattern)
	}
	query := func(subs ...string) (int, string) {
		return tsdtest.Ask(t, http.MethodPost, server+"/api/query", `{"start":1356998000,"end":1357000000,"queries":[`+strings.Join(subs, ",")+`]}`)
	}
	cheap, costly := sub(`^(?!a).`), sub(`^(?!x)(a|aa)+$|^b`)
	if status, text := query(cheap, cheap); status != http.StatusOK {
		t.Errorf("cheap: %d %.300s", status, text)
	}
	subs := []string{cheap}
	for n := range 200 { // a TSD answers equal ones once
		subs = append(subs, sub(fmt.Sprintf(`^(?!x%d)(a|aa)+$|^b`, n)))
	}
	status, text := query(subs...)
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "the regular expressions of one query may take") {
		t.Errorf("200 costly sub queries: %d %.300s", status, text)
	}
	if status, text := query(costly); status != http.StatusOK || !strings.Contains(text, "1356998400") {
		t.Errorf("one of them: %d %.300s", status, text)
	}
}

// TestPatternsOfMatches: where no query bounds the steps, an expression must take linear time.
func TestPatternsOfMatches(t *testing.T) {
	if _, err := tsdquery.ParseMatch(`m{host=regexp(^(?!web0))}`); err == nil || !strings.Contains(err.Error(), "look-around is not supported here") {
		t.Errorf("look-around: %v", err)
	}
	m, err := tsdquery.ParseMatch(`m{host=regexp(^[a-z&&[^w]]+)}`)
	if err != nil {
		t.Fatal(err)
	}
	if conditions, ok := m.Of("m"); !ok || conditions[1].Match("web") || !conditions[1].Match("db") {
		t.Errorf("conditions: %v, %v", conditions, ok)
	}
}
