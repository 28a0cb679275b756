package adapter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// statusTable returns the table of docs/statuses.md: the answer of each protocol (first row) to
// each kind of failure (first column).
func statusTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/statuses.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Statuses\n")
	if !ok {
		t.Fatal("docs/statuses.md has no section Statuses")
	}
	var doors []string
	table := map[string]map[string]string{}
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---"):
		case doors == nil:
			doors = cells
		default:
			row := map[string]string{}
			for i, cell := range cells[1:] {
				row[strings.TrimSpace(doors[i+1])] = strings.TrimSpace(cell)
			}
			table[strings.TrimSpace(cells[0])] = row
		}
	}
	return table
}

// TestStatuses: each protocol answers each kind of failure as the table of docs/statuses.md states.
func TestStatuses(t *testing.T) {
	table := statusTable(t)
	o := DefaultOptions()
	o.Engine, o.QueryMemory, o.QuerySeries, o.ReadSamples = tables.EngineMemory, 64<<20, 100, 10
	o.OpenTSDB.ListenAddress = "127.0.0.1:0"
	a, _ := runAdapter(t, o)
	for i := range 102 {
		name := "many"
		if i == 0 {
			name = "few"
		}
		q, err := promtest.ParseWrite(fmt.Sprintf(`{__name__=%q, i="%d"} 1@1000 1@2000 1@3000 1@4000 1@5000 1@6000 1@7000 1@8000 1@9000 1@10000 1@11000 1@12000`, name, i))
		if err != nil {
			t.Fatal(err)
		}
		m := q.V1()
		if status, _, text := a.post(t, "/write", snappy.Encode(nil, promtest.Marshal(t, &m))); status != 204 {
			t.Fatalf("%d %s", status, text)
		}
	}
	read := func(selector string) []byte {
		return snappy.Encode(nil, promtest.Marshal(t, &prompb.ReadRequest{Queries: []*prompb.Query{promtest.ReadQuery(t, 0, 20_000, nil, selector)}}))
	}
	form := func(query string) []byte {
		return []byte(url.Values{"query": {query}, "time": {"12"}}.Encode())
	}
	const api, readDoor, writeDoor, renderDoor, putDoor = "query API", "remote read", "remote write", "render, find, tags, events", "OpenTSDB put"
	for _, c := range []struct {
		failure, door, path string
		body                []byte
		others              int64 // bytes of the budget that others hold
	}{
		{"malformed", api, "/query", form("up{"), 0},
		{"malformed", readDoor, "/read", []byte("hello"), 0},
		{"malformed", writeDoor, "/write", []byte("hello"), 0},
		{"wrong method", readDoor, "/read", nil, 0},
		{"wrong method", writeDoor, "/write", nil, 0},
		{"text too long or too deep", api, "/query", form(strings.Repeat("(", 30_000)), 0},
		{"text too long or too deep", readDoor, "/read", snappy.Encode(nil, bytes.Repeat([]byte{0x0a, 0}, 1000)), 0},
		{"body too large", api, "/query", form(strings.Repeat("a", 4<<20)), 0},
		{"body too large", readDoor, "/read", make([]byte, 4<<20+1), 0},
		{"body too large", writeDoor, "/write", make([]byte, 33<<20), 0},
		{"a limit of a flag", api, "/query", form("many"), 0},
		{"a limit of a flag", api, "/query", form("count_over_time(vector(1)[100y:1ms])"), 0},
		{"a limit of a flag", readDoor, "/read", read("many"), 0},
		{"samples of `--query.max-samples`", readDoor, "/read", read("few"), 0},
		{"more memory than the budget", api, "/query", form("count_over_time(vector(1)[10000s:1ms])"), 0},
		{"memory that others hold", api, "/query", form("few"), 64<<20 - 2000},
		{"memory that others hold", readDoor, "/read", read("few"), 64<<20 - 500},
		{"malformed", renderDoor, "/render?format=json&target=noSuchFunction(a)", nil, 0},
		{"wrong method", renderDoor, "DELETE /metrics?query=a", nil, 0},
		{"text too long or too deep", renderDoor, "/render?format=json&target=" + strings.Repeat("abs(", 5000), nil, 0},
		{"body too large", renderDoor, "/render", []byte("target=" + strings.Repeat("a", 20<<20)), 0},
		{"a limit of a flag", renderDoor, "/render?format=json&target=seriesByTag('name=many')&from=0&until=20", nil, 0},
		{"memory that others hold", renderDoor, "/render?format=json&target=seriesByTag('name=few')&from=0&until=20", nil, 64<<20 - 500},
		{"malformed", putDoor, "/api/put", []byte("hello"), 0},
		{"wrong method", putDoor, "/api/put", nil, 0},
		{"text too long or too deep", putDoor, "/api/put", []byte(strings.Repeat("[", 100_000)), 0},
		{"body too large", putDoor, "/api/put", make([]byte, 40<<20), 0},
		{"took too long", api, "/query?timeout=1ms", form("count_over_time(vector(1)[500s:1ms])"), 0},
	} {
		want := table[c.failure][c.door]
		release := promtest.OthersHold(t, a.budget, c.others)
		status, header, text := a.post(t, c.path, c.body)
		release()
		got := fmt.Sprint(status)
		if _, kind, ok := strings.Cut(text, `"errorType":"`); ok {
			kind, _, _ = strings.Cut(kind, `"`)
			got += " `" + kind + "`"
		}
		if header.Get("Retry-After") != "" {
			got += ", Retry-After"
		}
		if got != want {
			t.Errorf("%s, %s: %s, docs/statuses.md says %s: %.300s", c.failure, c.door, got, want, text)
		}
	}
	if n := a.budget.Used(); n != 0 {
		t.Errorf("%d bytes are held afterwards", n)
	}
}

// post sends a body, or without one a GET, to a path of the query API, /render, or OpenTSDB's port.
// A method may stand before the path.
func (a *Adapter) post(t *testing.T, path string, body []byte) (int, http.Header, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	method, contentType, base := http.MethodPost, "application/x-protobuf", "http://"+a.Addr()
	if body == nil {
		method = http.MethodGet
	}
	if other, rest, ok := strings.Cut(path, " "); ok {
		method, path = other, rest
	}
	switch {
	case strings.HasPrefix(path, "/render"), strings.HasPrefix(path, "/metrics"):
		contentType = "application/x-www-form-urlencoded"
	case strings.HasPrefix(path, "/api/"):
		base, contentType = "http://"+a.opentsdb.Addr(), "application/json"
	case strings.HasPrefix(path, "/query"):
		base, contentType = base+prom.APIPrefix, "application/x-www-form-urlencoded"
	default:
		base += prom.APIPrefix
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, math.MaxInt32))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}
