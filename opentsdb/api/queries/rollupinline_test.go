package queries_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// TestGroupsAmongPoints: the preAggregationTable is that of the points, as in many configurations. Values of groups
// are points then; those of longer intervals are refused, as nobody could tell them from annotations.
func TestGroupsAmongPoints(t *testing.T) {
	c, _ := startRolledServer(t, `{"aggregationIds":{"sum":0,"count":1},"intervals":[
		{"table":"tsdb","preAggregationTable":"tsdb","interval":"1m","rowSpan":"1h","defaultInterval":true},
		{"table":"1h","preAggregationTable":"tsdb","interval":"1h","rowSpan":"1d"}]}`, func(*store.Options) {}, func(*opentsdb.Options) {})
	const at = 1356998400
	group := func(value, second string) string {
		return `{"metric":"m","timestamp":135699840` + second + `,"value":` + value + `,"tags":{"host":"a"},"groupByAggregator":"sum"}`
	}
	for _, p := range []struct {
		value  string
		status int
		want   string
	}{
		{"[" + group("7", "0") + "," + group("1.5", "1") + "," + rolled("1h", "sum", at, "42", "") + "]", http.StatusOK, ""},
		{rolled("1h", "sum", at, "42", `,"groupByAggregator":"sum"`), http.StatusBadRequest, "values of groups of the interval 1h belong into tsdb"},
	} {
		if status, text := c.send(t, http.MethodPost, "/api/rollup?details", p.value); status != p.status || !strings.Contains(text, p.want) {
			t.Errorf("%s: %d %s", p.value, status, text)
		}
	}
	const query, points = "/api/query?start=1356998400&end=1356998500&m=", `"1356998400":7.0,"1356998401":1.5`
	for _, q := range []struct {
		m      string
		status int
		want   string
	}{
		{"none:m{_aggregate=SUM}", 200, points},
		{"none:pre-agg:m", 200, points},
		{"none:pre-agg:m{_aggregate=SUM,host=a}", 200, points},
		{"sum:1m-sum:pre-agg:m", 200, `"1356998400":8.5`},
		{"sum:1h-sum:m{host=a}", 200, `"1356998400":42`},
		{"sum:1h-sum:pre-agg:m", 400, "values of groups of the interval 1h belong into tsdb"},
	} {
		if status, text := c.send(t, http.MethodGet, query+q.m, ""); status != q.status || !strings.Contains(text, q.want) {
			t.Errorf("%s: %d %s, want %s", q.m, status, text, q.want)
		}
	}
	if status, text := c.send(t, http.MethodDelete, query+"none:m{_aggregate=SUM}", ""); status != http.StatusOK {
		t.Errorf("delete: %d %s", status, text)
	}
	if _, text := c.send(t, http.MethodGet, query+"none:pre-agg:m", ""); strings.Contains(text, "1356998401") {
		t.Errorf("after a deletion: %s", text)
	}
	if answer := c.lines(t, "dropcaches", "dropcaches"); strings.Count(answer, "Caches dropped.") != 2 {
		t.Errorf("telnet: %q", answer)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if status, text := c.send(t, method, "/api/dropcaches", ""); status != http.StatusOK || !strings.Contains(text, "Caches dropped") {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
}
