package queries_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestNamesWithoutUIDs asks for values that no series has, as a TSD 2.4.1 was asked: what a series must not have
// need not exist, and no filter is one where a name is wanted.
func TestNamesWithoutUIDs(t *testing.T) {
	server := "http://" + tsdtest.Start(t)
	put := `[{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}},{"metric":"m","timestamp":1356998400,"value":2,"tags":{"host":"b","cpu":"0"}}]`
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/put", put); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	const (
		a    = `"tags":{"host":"a"}`
		b    = `"tags":{"cpu":"0","host":"b"}`
		both = a + " " + b
	)
	const query, last, lookup = "/api/query?start=1356998400&end=1356998500&m=none:", "/api/query/last?back_scan=2&timeseries=", "/api/search/lookup?m="
	for _, c := range []struct {
		path   string
		status int
		parts  string // of the answer, between blanks
		not    string
	}{
		{query + "m{host=not_literal_or(gone)}", 200, both, ""},
		{query + "m{}{host=not_literal_or(gone)}", 200, both, ""},
		{query + "m{host=not_literal_or(gone|a)}", 200, b, a},
		{query + "m{host=not_literal_or(a||b)}", 200, "[]", a},
		{query + "m{host=not_literal_or(A)}", 200, both, ""},
		{query + "m{host=not_literal_or(gone),cpu=*}", 200, b, a},
		{query + "m{host=not_iliteral_or(GONE)}", 200, both, ""},
		{query + "m{host=iliteral_or(gone)}", 200, "[]", a},
		{query + "m{host=gone*}", 200, "[]", a},
		{query + "m{host=regexp(gone)}", 200, "[]", a},
		{query + "m{host=gone}", 400, "'tagv': 'gone'", ""},
		{query + "m{host=literal_or(gone|a)}", 400, "'tagv': 'gone'", ""},
		{query + "m{nokey=not_literal_or(gone)}", 400, "'tagk': 'nokey'", ""},
		{"/q?start=1356998400&end=1356998500&ascii&m=sum:m{host=not_literal_or(gone)}", 200, "host=a host=b", ""},
		{last + "m{host=gone}", 400, "'tagv': 'gone'", ""},
		{last + "m{host=literal_or(a)}", 400, "'tagv': 'literal_or(a)'", ""},
		{last + "m{host=not_literal_or(a)}", 400, "'tagv': 'not_literal_or(a)'", ""},
		{last + "m{host=a|b}", 400, "'tagv': 'a|b'", ""},
		{last + "m{host=*}", 400, "'tagv': '*'", ""},
		{last + "m{nokey=a}", 400, "'tagk': 'nokey'", ""},
		{last + "m{host=a}{host=b}", 500, "invalid tag: host=a}{host=b", ""},
		{last + "m{host=a,host=b}", 500, "duplicate tag: host=b", ""},
		{last + "m{host", 500, "Missing '}' at the end of: m{host", ""},
		{lookup + "m{host=gone}", 404, "'tagv': 'gone'", ""},
		{lookup + "m{*=gone}", 404, "'tagv': 'gone'", ""},
		{lookup + "m{host=not_literal_or(a)}", 404, "'tagv': 'not_literal_or(a)'", ""},
	} {
		status, text := tsdtest.Ask(t, http.MethodGet, server+strings.ReplaceAll(c.path, " ", "%20"), "")
		missing := c.not != "" && strings.Contains(text, c.not)
		for part := range strings.SplitSeq(c.parts, " ") {
			missing = missing || !strings.Contains(text, part)
		}
		if status != c.status || missing {
			t.Errorf("%s: %d %.300s, want %d with %s", c.path, status, text, c.status, c.parts)
		}
	}
	body := `{"time":{"start":"1356998400","end":"1356998500","aggregator":"sum"},"filters":[{"id":"f","tags":[{"type":"not_literal_or","tagk":"host","filter":"gone","groupBy":true}]}],
		"metrics":[{"id":"a","metric":"m","filter":"f"}],"expressions":[{"id":"e","expr":"a+1"}],"outputs":[{"id":"e"}]}`
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/query/exp", body); status != 200 || !strings.Contains(text, "[1356998400000,2.0,3.0]") {
		t.Errorf("an expression: %d %s", status, text)
	}
}

// TestOldZones: tz is the zone of dates in /q, by Java's names.
func TestOldZones(t *testing.T) {
	server := "http://" + tsdtest.Start(t)
	if status, text := tsdtest.Ask(t, http.MethodPost, server+"/api/put", `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	const here = "m 1356998400 1 host=a\n"
	for _, c := range []struct {
		query  string
		status int
		want   string
	}{
		{"start=2013/01/01&end=2013/01/02", 200, here},
		{"start=2013/01/01&end=2013/01/02&tz=", 200, here},
		{"start=2013/01/01&end=2013/01/02&tz=PST", 200, ""}, // eight hours later
		{"start=2012/12/31-16:00:00&end=2012/12/31-16:01:00&tz=PST", 200, here},
		{"start=2013/01/01-01:00&end=2013/01/01-01:01&tz=Europe/Berlin", 200, here},
		{"start=2013/01/01-05:30&end=2013/01/01-05:31&tz=IST", 200, here},
		{"start=2013/01/01&end=2013/01/02&tz=Local", 400, "Invalid timezone name: Local"},
		{"start=2013/01/01&end=2013/01/02&tz=posix/UTC", 400, "Invalid timezone name: posix/UTC"},
		{"start=1356998400&end=2013/01/02&tz=right/UTC", 400, "Invalid timezone name: right/UTC"},
		{"start=1356998400&end=1356998401&tz=Nowhere", 200, here}, // no date
	} {
		status, text := tsdtest.Ask(t, http.MethodGet, server+"/q?ascii&m=sum:m{host=*}&"+c.query, "")
		if status != c.status || (status == 200 && text != c.want) || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %.200q, want %d %q", c.query, status, text, c.status, c.want)
		}
	}
}
