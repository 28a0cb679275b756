package queries_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestDeleteQuery deletes what queries ask for, and nothing else.
func TestDeleteQuery(t *testing.T) {
	address := tsdtest.Start(t)
	send := func(method, path, body string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		status, _, text := tsdtest.Exchange(t, r)
		return status, text
	}
	point := func(at, host string) string {
		return `{"metric":"m","timestamp":` + at + `,"value":1,"tags":{"host":"` + host + `"}}`
	}
	all := func() string {
		_, text := send("GET", "/api/query?start=1356998400&end=1357009200&m=sum:m{host=*}", "")
		return text
	}
	const whole = `[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":1,"1356998460":1,"1357002000":1}},{"metric":"m","tags":{"host":"b"},"aggregateTags":[],"dps":{"1356998460":1}}]`
	if status, text := send("POST", "/api/put", "["+point("1356998400", "a")+","+point("1356998460", "a")+","+point("1357002000", "a")+","+point("1356998460", "b")+"]"); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	const part = "/api/query?start=1356998430&end=1356998490&m=sum:m{host=a}"
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
	}{
		{"a page of another origin", "DELETE", part, "", []string{"Origin", "http://evil.example.org"}, http.StatusForbidden},
		{"a picture of a page", "GET", part + "&method_override=delete", "", []string{"User-Agent", "Mozilla/5.0"}, http.StatusForbidden},
		{"a form of a page", "POST", "/api/query", `{"start":1356998430,"end":1356998490,"delete":true,"queries":[{"aggregator":"sum","metric":"m"}]}`, []string{"Origin", "http://evil.example.org", "Content-Type", "text/plain"}, http.StatusForbidden},
		{"no such metric", "DELETE", "/api/query?start=1356998430&m=sum:none", "", nil, http.StatusBadRequest},
		{"nothing there", "DELETE", "/api/query?start=1356990000&end=1356990001&m=sum:m", "", nil, http.StatusOK},
		{"no start", "DELETE", "/api/query?m=sum:m", "", nil, http.StatusBadRequest},
	} {
		if status, text := send(c.method, c.path, c.body, c.headers...); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, status, text, c.status)
		}
		if got := all(); got != whole {
			t.Fatalf("after %s: %s", c.name, got)
		}
	}
	const answer = `[{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998460":1}}]`
	if status, text := send("DELETE", part, ""); status != http.StatusOK || text != answer {
		t.Errorf("DELETE: %d %s, want %s", status, text, answer)
	}
	if got, want := all(), strings.Replace(whole, `"1356998460":1,"1357002000"`, `"1357002000"`, 1); got != want {
		t.Errorf("after DELETE: %s, want %s", got, want)
	}
	if status, text := send("POST", "/api/query", `{"start":1356998400,"end":1357009200,"delete":true,"queries":[{"aggregator":"sum","metric":"m"},{"aggregator":"max","metric":"m"}]}`); status != http.StatusOK {
		t.Error(status, text)
	}
	if got := all(); got != "[]" {
		t.Errorf("after delete: %s", got)
	}
}

// TestSeriesByTSUIDs asks for series by their TSUIDs that also have filters; a TSD has no UIDs to look for then, and
// compares the series that it reads. What a filter leaves out is not deleted either.
func TestSeriesByTSUIDs(t *testing.T) {
	address := tsdtest.Start(t)
	send := func(path, body string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _, text := tsdtest.Exchange(t, r)
		return text
	}
	if status, text := tsdtest.Ask(t, http.MethodGet, "http://"+address+"/api/uid/assign?metric=m&tagk=host,cpu&tagv=a,b,0", ""); status != http.StatusOK {
		t.Fatal(status, text)
	}
	send("/api/put", `[{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}},{"metric":"m","timestamp":1356998400,"value":2,"tags":{"host":"b","cpu":"0"}}]`)
	query := func(kind, key, text, more string) string {
		return send("/api/query", `{"start":1356998400,"end":1356998500,`+more+`"queries":[{"aggregator":"none","tsuids":["000001000001000001","000001000001000002000002000003"],
			"filters":[{"type":"`+kind+`","tagk":"`+key+`","filter":"`+text+`","groupBy":true}]}]}`)
	}
	const (
		a = `{"metric":"m","tags":{"host":"a"},"aggregateTags":[],"dps":{"1356998400":1}}`
		b = `{"metric":"m","tags":{"cpu":"0","host":"b"},"aggregateTags":[],"dps":{"1356998400":2}}`
	)
	for _, c := range []struct{ kind, key, text, want string }{
		{"literal_or", "host", "a|c", "[" + a + "]"},
		{"iliteral_or", "host", "B", "[" + b + "]"},
		{"not_literal_or", "host", "b", "[" + a + "]"},
		{"not_literal_or", "cpu", "1", "[" + a + "," + b + "]"},
		{"not_iliteral_or", "cpu", "0", "[" + a + "]"},
		{"wildcard", "cpu", "**", "[" + a + "," + b + "]"},
		{"wildcard", "cpu", "0*", "[" + b + "]"},
		{"iwildcard", "host", "A*", "[" + a + "]"},
		{"regexp", "cpu", "[0-9]", "[" + b + "]"},
		{"regexp", "none", ".*", "[]"},
	} {
		if got := query(c.kind, c.key, c.text, ""); got != c.want {
			t.Errorf("%s of %s %s: %s, want %s", c.kind, c.key, c.text, got, c.want)
		}
	}
	if got := query("literal_or", "host", "a", `"delete":true,`); got != "["+a+"]" {
		t.Errorf("deletion: %s", got)
	}
	if got := query("wildcard", "host", "*", ""); got != "["+b+"]" {
		t.Errorf("after the deletion: %s", got)
	}
}
