package opentsdb

import (
	"net/http"
	"strings"
	"testing"
)

// TestSemicolons: parameters may stand between semicolons, as with a TSD, and a wrong escape is no missing parameter.
func TestSemicolons(t *testing.T) {
	server := "http://" + startRecorded(t)
	put := `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`
	if status, text := ask(t, http.MethodPost, server+"/api/put?summary;details", put); status != http.StatusOK || !strings.Contains(text, `"errors":[]`) {
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
		if status, text := ask(t, http.MethodGet, server+c.path, ""); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.300s, want %d %s", c.path, status, text, c.status, c.want)
		}
	}
}
