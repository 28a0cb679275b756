package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// charged returns the API with an account of a budget for each request, as the adapter serves it.
func (w *web) charged(b *query.Budget) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		account := b.Open()
		defer account.Close()
		w.router.ServeHTTP(rw, r.WithContext(query.WithAccount(r.Context(), account)))
	})
}

// filled returns an API over some plain and some tagged series with a day of points every 10 s.
func filled(t *testing.T, series int) *web {
	w := newWeb(t)
	var lines strings.Builder
	for i := range series {
		for at := range 20 {
			fmt.Fprintf(&lines, "servers.web%04d.load %d %d\ntagged.load;host=web%04d %d %d\n", i, at, webNow-200+at*10, i, at, webNow-200+at*10)
		}
	}
	w.Add(t, strings.NewReader(lines.String()))
	return w
}

// TestRequestsAreBounded sends requests that are too long, too deep or too large. Each is answered
// in time, with a text that names the limit.
func TestRequestsAreBounded(t *testing.T) {
	w := filled(t, 50)
	many := strings.Repeat
	target := func(s string) string { return "format=json&target=" + url.QueryEscape(s) }
	for _, c := range []struct {
		name, path, form string
		status           int
		says             string
	}{
		{"brackets in grep", "/render", target("grep(constantLine(1),'" + many("(", 250_000) + "')"), 400, "more than 65536 characters"},
		{"fewer brackets in grep", "/render", target("grep(constantLine(1),'" + many("(", 60_000) + "')"), 400, "nested deeper than 200"},
		{"a long name in aliasSub", "/render", target("aliasSub(alias(constantLine(1),'" + many("a", 1_000_000) + "'),'(a|aa)+$','x')"), 400, "takes too long"},
		{"brackets in seriesByTag", "/render", target("seriesByTag('host=~" + many("(", 250_000) + "')"), 400, "more than 65536 characters"},
		{"many conditions", "/render", target("seriesByTag('host=a'" + many(",'host=~a'", 5000) + ")"), 422, "at most 1000"},
		{"brackets in findSeries", "/tags/findSeries", "expr=host=~" + many("(", 250_000), 400, "more than 65536 characters"},
		{"ways in findSeries", "/tags/findSeries", "expr=host=~" + many(`(\w*)*`, 1000) + "!", 400, "takes too long"},
		{"brackets in autoComplete", "/tags/autoComplete/tags", "expr=host=~" + many("(", 60_000), 400, "nested deeper than 200"},
		{"brackets in autoComplete of values", "/tags/autoComplete/values", "tag=host&expr=host=~" + many("(", 250_000), 400, "more than 65536 characters"},
		{"many conditions of findSeries", "/tags/findSeries", "expr=host=a" + many("&expr=host=~a", 5000), 422, "at most 1000"},
		{"many parameters", "/render", many("a&", 1_000_000), 413, "more than 20000 parameters"},
		{"many targets", "/render", "format=json" + many("&target=a", 5000), 422, "at most 1000"},
		{"a long target", "/render", target(many("a", 2_000_000)), 400, "longer than 1048576 bytes"},
		{"deep calls", "/render", target(many("scale(", 100_000)), 400, "nested deeper than 200"},
		{"a long pipe", "/render", target("a" + many("|f()", 250_000)), 400, "a pipe of more than 200 calls"},
		{"deep templates", "/render", target(many("template(", 100_000)), 400, "nested deeper than 200"},
		{"template values", "/render", target("template(a.$a)") + strings.Join(numbered("&template[v%d]=x", 5000), ""), 400, "more than 1000 template values"},
		{"a long callback", "/render", target("a") + "&jsonp=" + many("a", 100_000), 400, "jsonp is longer than"},
		{"brackets in find", "/metrics/find", "query=" + many("[", 1_500_000), 422, "at most 65536"},
		{"fewer brackets in find", "/metrics/find", "query=" + many("[", 65_000), 200, ""},
		{"braces in find", "/metrics/find", "query=" + many("{a,b}", 100), 422, "alternatives"},
		{"braces in braces", "/metrics/find", "query=" + many("{a,", 10_000) + many("}", 10_000), 422, "more than"},
		{"long alternatives", "/metrics/find", "query={" + strings.Join(numbered("a%d,", 200), "") + "}{" + many("b", 30_000) + ",c}{" + many("d", 30_000) + ",e}", 422, "more than"},
		{"shut braces", "/metrics/find", "query=" + many("}", 65_000), 200, ""},
		{"open braces", "/metrics/find", "query=" + many("{", 65_000), 200, ""},
		{"stars", "/metrics/find", "query=" + many("*a", 32_000) + "b", 200, ""},
		{"any elements", "/metrics/find", "query=" + many("**.", 10_000) + "a", 422, "at most 60"},
		{"many queries", "/metrics/expand", strings.Join(numbered("query=a%d&", 5000), ""), 422, "at most 1000"},
		{"a long from", "/render", target("a") + "&from=" + many("-1s", 100_000), 400, "Invalid"},
		{"a long until", "/render", target("a") + "&until=" + many("noon", 100_000), 400, "Unknown day reference"},
	} {
		begin := time.Now()
		got := w.post(c.path, c.form)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s: status %d, want %d and %q: %.300s", c.name, got.Code, c.status, c.says, got.Body)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s took %v", c.name, took)
		}
	}
}

func numbered(format string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}

// TestAnswersAreCharged: the memory of an answer is charged, and the error about a budget that is
// too small names its flag.
func TestAnswersAreCharged(t *testing.T) {
	w := filled(t, 300)
	for _, url := range []string{
		"/render?format=json&from=-5d&target=servers.*.load", "/render?format=json&target=seriesByTag('host=~web.*')", "/metrics/find?query=servers.*",
		"/metrics/expand?query=servers.*", "/metrics/index.json", "/tags/findSeries?expr=host=~web.*", "/tags/autoComplete/tags?expr=host=~web.*",
		"/render?format=json&from=0&target=time('x',3600)", "/render?format=json&target=" + strings.Repeat("a", 30_000),
	} {
		for _, c := range []struct {
			limit  int64
			held   int64 // by others
			status int
		}{{1 << 30, 0, 200}, {30_000, 0, 422}, {64 << 20, 64<<20 - 30_000, 503}} {
			b := query.NewBudget(c.limit)
			var others []*query.Account
			const each = 1 << 20 // small ones may take all
			for rest := c.held; rest > 0; rest -= each {
				others = append(others, b.Open())
				if err := others[len(others)-1].Take(min(rest, each)); err != nil {
					t.Fatal(err)
				}
			}
			got := httptest.NewRecorder()
			w.charged(b).ServeHTTP(got, httptest.NewRequest(http.MethodGet, url, nil))
			if got.Code != c.status || c.status != 200 && !strings.Contains(got.Body.String(), query.MemoryFlag) {
				t.Errorf("%s within %d bytes: status %d, want %d: %.200s", url, c.limit-c.held, got.Code, c.status, got.Body)
			}
			for _, other := range others {
				other.Close()
			}
			if b.Used() != 0 {
				t.Errorf("%s: %d bytes stay charged", url, b.Used())
			}
		}
	}
}

// TestHeavyRendersShareTheBudget: thirty requests at once never hold more than the budget; some are
// answered, and the others are told to come again.
func TestHeavyRendersShareTheBudget(t *testing.T) {
	w := filled(t, 10)
	const limit = 8 << 20
	b := query.NewBudget(limit)
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			got := httptest.NewRecorder()
			w.charged(b).ServeHTTP(got, httptest.NewRequest(http.MethodGet, "/render?format=json&from=-1d&target=scale(servers.*.load,2)&target=servers.*.load", nil))
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Code]++
			if b.Used() > limit {
				t.Errorf("%d bytes are used of %d", b.Used(), int64(limit))
			}
		})
	}
	all.Wait()
	if statuses[200]+statuses[503] != 30 || statuses[200] == 0 {
		t.Errorf("statuses %v, want 200 and 503", statuses)
	}
}

// TestLargeBody sends 20 MB like a client that sends everything before it reads: it gets the
// answer, not a reset.
func TestLargeBody(t *testing.T) {
	w := newWeb(t)
	server := httptest.NewServer(w.router)
	defer server.Close()
	for _, c := range []struct{ path, kind string }{
		{"/render", "application/x-www-form-urlencoded"}, {"/metrics/find", "multipart/form-data; boundary=X"}, {"/tags/tagMultiSeries", "application/x-www-form-urlencoded"},
	} {
		for _, chunked := range []bool{false, true} {
			body := "target=" + strings.Repeat("x", 20<<20)
			if strings.HasPrefix(c.kind, "multipart") {
				body = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + body
			}
			status, err := sendAll(t, server.Listener.Addr().String(), c.path, c.kind, body, chunked)
			if err != nil || status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s of %s, chunked %v: status %d, %v", c.path, c.kind, chunked, status, err)
			}
		}
	}
	if status, err := sendAll(t, server.Listener.Addr().String(), "/metrics/find?query=*", "application/json", strings.Repeat("x", 20<<20), false); err != nil || status != 200 {
		t.Errorf("a body that is not read: status %d, %v", status, err)
	}
}

// sendAll sends a request as a whole before it reads the answer's status.
func sendAll(t *testing.T, address, path, kind, body string, chunked bool) (int, error) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n", path, kind)
	if chunked {
		head += "Transfer-Encoding: chunked\r\n\r\n"
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	} else {
		head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	}
	if _, err := io.WriteString(conn, head+body); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// TestSlowBody: the time limit of a request includes its body.
func TestSlowBody(t *testing.T) {
	w := newWeb(t, func(o *Options) { o.Limits.Timeout = 50 * time.Millisecond })
	server := httptest.NewServer(w.router)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/render", io.MultiReader(strings.NewReader("target=a"), stuck{ctx}))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(r)
	if ctx.Err() != nil {
		t.Fatalf("no answer to a body that does not come: %v", err)
	}
	if err == nil {
		_ = answer.Body.Close()
	}
}

// stuck never ends before its context does.
type stuck struct{ ctx context.Context } // A reader has no other way.

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// TestDeepNames: a name of the greatest depth that a carbon line allows costs no more than others
// of its length, and is found element by element.
func TestDeepNames(t *testing.T) {
	w := newWeb(t)
	const depth = 4000
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "d%d%s.end 1 %d\n", i, strings.Repeat(".a", depth), webNow-10)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.Add(t, strings.NewReader(lines.String()))
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 256<<20 {
		t.Errorf("20 names of %d elements made %d MiB", depth, made>>20)
	}
	path := func(n int) string { return "d7" + strings.Repeat(".a", n) }
	for query, want := range map[string]string{
		path(10) + ".*":    "[{\"text\": \"a\", \"id\": \"" + path(11) + "\", \"allowChildren\": 1, \"expandable\": 1, \"leaf\": 0}]",
		path(300) + ".?":   "[{\"text\": \"a\", \"id\": \"" + path(300) + ".a\", \"allowChildren\": 1, \"expandable\": 1, \"leaf\": 0}]",
		path(depth) + ".*": "[{\"text\": \"end\", \"id\": \"" + path(depth) + ".end\", \"allowChildren\": 0, \"expandable\": 0, \"leaf\": 1}]",
	} {
		if got := w.get("/metrics/find?query=" + query); got.Body.String() != want {
			t.Errorf("find %.40s… of %d elements: %d %.300s", query, strings.Count(query, ".")+1, got.Code, got.Body)
		}
	}
	// The inner nodes are not leaves: if they were, the paths alone would take 300 MB.
	b := query.NewBudget(8 << 20)
	for _, url := range []string{"/metrics/index.json", "/render?format=json&from=-5min&target=**"} {
		got := httptest.NewRecorder()
		w.charged(b).ServeHTTP(got, httptest.NewRequest(http.MethodGet, url, nil))
		if got.Code != 200 || strings.Count(got.Body.String(), ".end\"") < 20 {
			t.Errorf("%s: %d, %d bytes", url, got.Code, got.Body.Len())
		}
	}
	if got := w.get("/render?format=json&from=-5min&target=" + path(depth) + ".end"); got.Code != 200 || !strings.Contains(got.Body.String(), "[1.0, ") {
		t.Errorf("render: %d %.300s", got.Code, got.Body)
	}
}

// FuzzRequestsGrow repeats pieces of parameters of every endpoint up to hundreds of kilobytes. No
// answer is a server error, and none is late.
func FuzzRequestsGrow(f *testing.F) {
	for i, s := range [][3]string{
		{"target=f(", "a", ")"},
		{"query=[", "a", "]"},
		{"query={a,", "b", "}"},
		{"expr=host=~(", "a", ")*"},
		{"expr=host=", "a", "&expr=b=~a"},
		{"from=-1", "s", "d"},
		{"jsonp=a", "b", "c"},
		{"template[a]=", "$b", "&template[b]=$a"},
		{"filter=(", "a", ")*"},
		{"path=a;b=c", ";d=e", ";f=g"},
		{"%", "41", "&"},
		{"maxDataPoints=", "1", "0"},
	} {
		f.Add(s[0], s[1], s[2], uint(2), uint(i))
		f.Add(s[0], s[1], s[2], uint(60_000), uint(i))
	}
	w := newWeb(f)
	paths := []string{
		"/render?format=json&target=a.*&", "/metrics/find?query=*&", "/metrics/expand?query=*&", "/tags?", "/tags/host?", "/tags/findSeries?", "/tags/autoComplete/tags?",
		"/tags/autoComplete/values?tag=host&", "/tags/delSeries?", "/functions?",
	}
	f.Fuzz(func(t *testing.T, open, middle, shut string, n, door uint) {
		grow := func(s string) string { return strings.Repeat(s, min(int(n%100_000), 300_000/max(len(s), 1))) }
		path, query, _ := strings.Cut(paths[door%uint(len(paths))], "?")
		begin := time.Now()
		got := w.post(path, query+grow(open)+middle+grow(shut))
		if got.Code >= 500 && got.Code != http.StatusNotImplemented {
			t.Fatalf("%s: %.50q, %.50q, %.50q × %d: status %d: %.300s", path, open, middle, shut, n, got.Code, got.Body)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Fatalf("%s: %.50q, %.50q, %.50q × %d took %v", path, open, middle, shut, n, took)
		}
	})
}
