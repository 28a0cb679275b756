package opentsdb

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// serveWith starts a server over an empty store.
func serveWith(t *testing.T, change func(*Options)) (address string) {
	store := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	o := serverOptions("127.0.0.1:0")
	o.Points, o.Store, o.Deleter, o.Catalog, o.Names, o.Layout = store, store, store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	change(&o)
	s, err := New(o)
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
	return s.Addr()
}

// ask sends a request and returns its status and its answer.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	status, _, text := exchangeRaw(t, r)
	return status, text
}

// tell sends lines by telnet and returns the answers.
func tell(t *testing.T, address, lines string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, lines+"exit\n"); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestModes takes no points in ro, and answers no queries in wo.
func TestModes(t *testing.T) {
	const put = `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"a":"b"}}`
	for mode, want := range map[string]struct {
		put, query int
		telnet     string
	}{
		ModeReadWrite: {http.StatusNoContent, http.StatusOK, ""},
		ModeReadOnly:  {http.StatusNotFound, http.StatusBadRequest, "unknown command: put.  Try `help'.\n"}, // no such metric
		ModeWriteOnly: {http.StatusNoContent, http.StatusNotFound, ""},
	} {
		address := serveWith(t, func(o *Options) { o.Mode = mode })
		if status, text := ask(t, "POST", "http://"+address+"/api/put", put); status != want.put {
			t.Errorf("%s: put: %d %s", mode, status, text)
		}
		if status, text := ask(t, "GET", "http://"+address+"/api/query?start=1356998400&m=sum:m", ""); status != want.query {
			t.Errorf("%s: query: %d %s", mode, status, text)
		}
		if status, text := ask(t, "GET", "http://"+address+"/api/version", ""); status != http.StatusOK {
			t.Errorf("%s: version: %d %s", mode, status, text)
		}
		if got := tell(t, address, "put m 1356998401 1 a=b\n"); got != want.telnet {
			t.Errorf("%s: telnet: %q", mode, got)
		}
	}
}

// TestAutoCreate refuses names without UIDs where new ones are not made.
func TestAutoCreate(t *testing.T) {
	address := serveWith(t, func(o *Options) { o.AutoCreate, o.AllowEdits = put.AutoCreate{TagKeys: true}, true })
	if status, text := ask(t, "GET", "http://"+address+"/api/uid/assign?metric=known&tagv=known", ""); status != http.StatusOK {
		t.Fatal(status, text)
	}
	for _, c := range []struct{ metric, value, telnet string }{
		{"known", "known", ""},
		{"new", "known", "put: unknown metric: No such name for 'metrics': 'new'\n"},
		{"known", "new", "put: unknown metric: No such name for 'tagv': 'new'\n"},
		{"new", "new", "put: unknown metric: No such name for 'metrics': 'new'\n"},
	} {
		if got := tell(t, address, "put "+c.metric+" 1356998400 1 fresh="+c.value+"\n"); got != c.telnet {
			t.Errorf("%s %s: %q, want %q", c.metric, c.value, got, c.telnet)
		}
	}
	status, text := ask(t, "POST", "http://"+address+"/api/put?details", `[{"metric":"new","timestamp":1356998400,"value":1,"tags":{"fresh":"known"}},
		{"metric":"known","timestamp":1356998460,"value":1,"tags":{"fresh":"known"}}]`)
	if status != http.StatusBadRequest || !strings.Contains(text, `"error":"Unknown metric"`) || !strings.Contains(text, `"success":1`) {
		t.Error(status, text)
	}
	_, text = ask(t, "GET", "http://"+address+"/api/query?start=1356998400&end=1356998500&m=sum:known", "")
	if want := `[{"metric":"known","tags":{"fresh":"known"},"aggregateTags":[],"dps":{"1356998400":1,"1356998460":1}}]`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestTimeZone reads dates in the zone of the options.
func TestTimeZone(t *testing.T) {
	address := serveWith(t, func(o *Options) { o.TimeZone = "Europe/Berlin" })
	if status, text := ask(t, "POST", "http://"+address+"/api/put", `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"a":"b"}}`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	for query, found := range map[string]bool{
		`"start":"2013/01/01-01:00:00","end":"2013/01/01-01:00:01"`:                  true,
		`"start":"2013/01/01-00:00:00","end":"2013/01/01-00:00:01"`:                  false,
		`"start":"2013/01/01-00:00:00","end":"2013/01/01-00:00:01","timezone":"UTC"`: true,
	} {
		if _, text := ask(t, "POST", "http://"+address+"/api/query", "{"+query+`,"queries":[{"aggregator":"sum","metric":"m"}]}`); (text != "[]") != found {
			t.Errorf("%s: %s", query, text)
		}
	}
}
