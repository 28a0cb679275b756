package opentsdb_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestModes takes no points in ro, and answers no queries in wo.
func TestModes(t *testing.T) {
	const put = `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"a":"b"}}`
	for mode, want := range map[string]struct {
		put, query int
		telnet     string
	}{
		opentsdb.ModeReadWrite: {http.StatusNoContent, http.StatusOK, ""},
		opentsdb.ModeReadOnly:  {http.StatusNotFound, http.StatusBadRequest, "unknown command: put.  Try `help'.\n"}, // no such metric
		opentsdb.ModeWriteOnly: {http.StatusNoContent, http.StatusNotFound, ""},
	} {
		address := tsdtest.StartWith(t, func(o *opentsdb.Options) { o.Mode = mode })
		if status, text := tsdtest.Ask(t, "POST", "http://"+address+"/api/put", put); status != want.put {
			t.Errorf("%s: put: %d %s", mode, status, text)
		}
		if status, text := tsdtest.Ask(t, "GET", "http://"+address+"/api/query?start=1356998400&m=sum:m", ""); status != want.query {
			t.Errorf("%s: query: %d %s", mode, status, text)
		}
		if status, text := tsdtest.Ask(t, "GET", "http://"+address+"/api/version", ""); status != http.StatusOK {
			t.Errorf("%s: version: %d %s", mode, status, text)
		}
		if got := tsdtest.Tell(t, address, "put m 1356998401 1 a=b\n"); got != want.telnet {
			t.Errorf("%s: telnet: %q", mode, got)
		}
	}
}

// TestAutoCreate refuses names without UIDs where new ones are not made.
func TestAutoCreate(t *testing.T) {
	address := tsdtest.StartWith(t, func(o *opentsdb.Options) { o.AutoCreate, o.AllowEdits = put.AutoCreate{TagKeys: true}, true })
	if status, text := tsdtest.Ask(t, "GET", "http://"+address+"/api/uid/assign?metric=known&tagv=known", ""); status != http.StatusOK {
		t.Fatal(status, text)
	}
	for _, c := range []struct{ metric, value, telnet string }{
		{"known", "known", ""},
		{"new", "known", "put: unknown metric: No such name for 'metrics': 'new'\n"},
		{"known", "new", "put: unknown metric: No such name for 'tagv': 'new'\n"},
		{"new", "new", "put: unknown metric: No such name for 'metrics': 'new'\n"},
	} {
		if got := tsdtest.Tell(t, address, "put "+c.metric+" 1356998400 1 fresh="+c.value+"\n"); got != c.telnet {
			t.Errorf("%s %s: %q, want %q", c.metric, c.value, got, c.telnet)
		}
	}
	status, text := tsdtest.Ask(t, "POST", "http://"+address+"/api/put?details", `[{"metric":"new","timestamp":1356998400,"value":1,"tags":{"fresh":"known"}},
		{"metric":"known","timestamp":1356998460,"value":1,"tags":{"fresh":"known"}}]`)
	if status != http.StatusBadRequest || !strings.Contains(text, `"error":"Unknown metric"`) || !strings.Contains(text, `"success":1`) {
		t.Error(status, text)
	}
	_, text = tsdtest.Ask(t, "GET", "http://"+address+"/api/query?start=1356998400&end=1356998500&m=sum:known", "")
	if want := `[{"metric":"known","tags":{"fresh":"known"},"aggregateTags":[],"dps":{"1356998400":1,"1356998460":1}}]`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestTimeZone reads dates in the zone of the options.
func TestTimeZone(t *testing.T) {
	address := tsdtest.StartWith(t, func(o *opentsdb.Options) { o.TimeZone = "Europe/Berlin" })
	if status, text := tsdtest.Ask(t, "POST", "http://"+address+"/api/put", `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"a":"b"}}`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	for query, found := range map[string]bool{
		`"start":"2013/01/01-01:00:00","end":"2013/01/01-01:00:01"`:                  true,
		`"start":"2013/01/01-00:00:00","end":"2013/01/01-00:00:01"`:                  false,
		`"start":"2013/01/01-00:00:00","end":"2013/01/01-00:00:01","timezone":"UTC"`: true,
	} {
		if _, text := tsdtest.Ask(t, "POST", "http://"+address+"/api/query", "{"+query+`,"queries":[{"aggregator":"sum","metric":"m"}]}`); (text != "[]") != found {
			t.Errorf("%s: %s", query, text)
		}
	}
}
