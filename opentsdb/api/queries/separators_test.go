package queries_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestSemicolons: parameters may stand between semicolons, as with a TSD, and a wrong escape is no missing parameter.
func TestSemicolons(t *testing.T) {
	server := "http://" + tsdtest.Start(t)
	put := `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/put?summary;details", put); status != http.StatusOK || !strings.Contains(text, `"errors":[]`) {
		t.Fatal(status, text)
	}
	const point = `"dps":{"1356998400":1}`
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/query?start=1356998400;end=1356998500;m=none:m", 200, point},
		{"/api/query?start=1356998400;end=1356998500&m=none:m{host=a};show_tsuids", 200, `"tsuids":["000001000001000001"]`},
		{"/api/query?;;start=1356998400;&;end=1356998500;m=none:m", 200, point},
		{"/api/query?start=1356998400&m=none:m{host=literal_or(a%3Bb)}", 400, "'tagv': 'a;b'"},
		{"/api/query?start=1356998400&m=none:m{host=not_literal_or(a;b)}", 500, ""},
		{"/api/query/last?timeseries=m{host=a};resolve;back_scan=2", 200, "[]"},
		{"/api/suggest?type=metrics;q=m", 200, `["m"]`},
		{"/api/search/lookup?m=m;limit=1", 200, `"limit":1`},
		{"/q?start=1356998400;end=1356998500;ascii;m=sum:m", 200, "m 1356998400 1 host=a"},
		{"/api/aggregators?jsonp=f;x=1", 200, "f("},
		{"/api/query?start=1356998400&end=%zz&m=none:m", 400, "invalid URL escape"},
		{"/api/query?start=1356998400&m=none:m&x=%", 400, "invalid URL escape"},
		{"/api/suggest?type=metrics&max=%1", 400, "invalid URL escape"},
		{"/api/query?start=1356998400&end=1356998500&m=none%3Am&=x", 200, point},
	} {
		if status, text := tsdtest.Ask(t, http.MethodGet, server+c.path, ""); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.300s, want %d %s", c.path, status, text, c.status, c.want)
		}
	}
}

// TestPutEscapes: a wrong escape in the flags of a put is an error, as in those of a query, and nothing is stored.
func TestPutEscapes(t *testing.T) {
	server := "http://" + tsdtest.Start(t)
	put := `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`
	for _, path := range []string{"/api/put?summary&details=%zz", "/api/put?sync&sync_timeout=%", "/api/put/?x=%1", "/api/rollup?details=%zz"} {
		if status, text := tsdtest.Ask(t, http.MethodPost, server+path, put); status != http.StatusBadRequest || !strings.Contains(text, "invalid URL escape") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := tsdtest.Ask(t, http.MethodGet, server+"/api/suggest?type=metrics", ""); status != http.StatusOK || text != "[]" {
		t.Error(status, text)
	}
}

// TestAssignKinds: names of other kinds than metric, tagk and tagv, which may be in any case, are errors, as with a TSD.
func TestAssignKinds(t *testing.T) {
	address := "http://" + tsdtest.StartWith(t, func(o *opentsdb.Options) { o.AllowEdits = true })
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "", `{"x":["a"]}`, 400, `{"x":{},"x_errors":{"a":"Unknown type name"}}`},
		{"POST", "", `{"metrics":["a"],"tagk":["k"]}`, 400, `{"metrics":{},"metrics_errors":{"a":"Unknown type name"},"tagk":{"k":"000001"}}`},
		{"POST", "", `{"Metric":["b"],"TAGV":[]}`, 200, `{"Metric":{"b":"000001"},"TAGV":{}}`},
		{"POST", "", `{"x":["a b"],"y":[]}`, 400, `{"x":{},"x_errors":{"a b":"Invalid x (\"a b\"): illegal character:  "},"y":{}}`},
		{"POST", "", `{"metric":[]}`, 200, `{"metric":{}}`},
		{"POST", "", `{}`, 400, "Missing values to assign UIDs"},
		{"POST", "?metric=q", "", 400, "Missing message content"},
		{"GET", "?x=a", "", 400, "Missing values to assign UIDs"},
		{"GET", "?x=a&tagv=v,w,,", "", 200, `{"tagv":{"v":"000001","w":"000002"}}`},
		{"GET", "?tagv=first&tagv=last", "", 200, `{"tagv":{"last":"000003"}}`},
		{"GET", "?tagv=,", "", 400, "Missing values to assign UIDs"},
	} {
		if status, text := tsdtest.Ask(t, c.method, address+"/api/uid/assign"+c.path, c.body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %d %.300s, want %d %s", c.method, c.path, c.body, status, text, c.status, c.want)
		}
	}
}
