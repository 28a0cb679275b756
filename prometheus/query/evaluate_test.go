package query

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/regexp"
)

// TestAsModule: answers to queries are those of the module's handlers, in status, header and bytes:
// whatever the parameters, and whatever is wrong with them.
func TestAsModule(t *testing.T) {
	o := testAPIOptions(t, demoStore(t))
	o.Origins = regexp.MustCompile(".*")
	a := New(o)
	ranged := url.Values{"query": {"requests_total"}, "start": {"0"}, "end": {"600"}, "step": {"60"}}
	instant := url.Values{"query": {"requests_total"}, "time": {"600"}}
	queries := []string{
		"", "requests_total", "none", "sum(", "1", `"text"`, "requests_total[5m]", "rate(requests_total[5m])", "histogram_quantile(0.5, requests_total)",
		"requests_total * on() requests_total", "requests_total{", `{__name__=~"("}`, "vector(1)", "sum by (a) (requests_total) / 0", "label_replace(requests_total, \"a\", \"$1\", \"b\", \"(\")",
		"requests_total @ end()", "max_over_time(requests_total[10m:1m])", "topk(1, requests_total)", "1 / 0", "-1 % 0", "time()",
	}
	values := map[string][]string{
		"query": queries,
		"time":  {"", "x", "1e3", "1.5", "NaN", "Inf", "-1", "2020-01-01T00:00:00Z", "-292273086-05-16T16:47:06Z", "292277025-08-18T07:12:54.999999999Z", "9e99"},
		"start": {"", "x", "601", "-5", "0.0004", "1e300"},
		"end":   {"", "x", "-1", "660000", "661000", "1970-01-01T00:10:00Z"},
		"step":  {"", "x", "0", "-1", "1m", "0.05", "1e-9", "1e300", "1y"},
		// A request with several errors gets the first one.
		"timeout":        {"", "x", "0", "-1", "1ms", "1e300", "10s"},
		"lookback_delta": {"", "x", "0", "-1", "1m", "1e300"},
		"limit":          {"", "x", "-1", "0", "1", "1.5", "99999999999999999999"},
		"stats":          {"", "true", "all", "x"},
	}
	headers := []http.Header{{}, {"Accept-Encoding": {"gzip"}}, {"Origin": {"http://a.example"}}, {"Accept": {"text/plain"}}}
	n := 0
	for path, form := range map[string]url.Values{"/query": instant, "/query_range": ranged} {
		for name, list := range values {
			for _, value := range list {
				for _, odd := range []string{"", "limit", "timeout"} {
					f := maps.Clone(form)
					if f[name] = []string{value}; odd != "" {
						f[odd] = append(slices.Clone(f[odd]), "x")
					}
					sameAnswers(t, a, path, f, headers[n%len(headers)])
					n++
				}
			}
		}
	}
}

// sameAnswers sends a request to the handler of a path and to the module's.
func sameAnswers(t *testing.T, a *API, path string, form url.Values, header http.Header) {
	t.Helper()
	answers := [2]*httptest.ResponseRecorder{}
	for i, h := range []http.Handler{a.own[Prefix+path], a.module} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			r := httptest.NewRequest(method, Prefix+path, strings.NewReader(form.Encode()))
			if maps.Copy(r.Header, header); method == http.MethodGet {
				r = httptest.NewRequest(method, Prefix+path+"?"+form.Encode(), nil)
			} else {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			if err := r.ParseForm(); err != nil {
				t.Fatal(err)
			}
			answers[i] = httptest.NewRecorder()
			h.ServeHTTP(answers[i], r.WithContext(a.gate.admit(r.Context())))
		}
	}
	own, module := answers[0], answers[1]
	if strings.Contains(form.Get("stats"), "t") || form.Has("stats") && form.Get("stats") != "" {
		if own.Code == http.StatusOK && module.Code == http.StatusOK { // times differ
			return
		}
	}
	text := strings.Replace(own.Body.String(), "timed out in expression evaluation", "timed out in query execution", 1) // shared queries wait there
	if own.Code != module.Code || text != module.Body.String() {
		t.Errorf("%s %v: %d %.300s\nthe module answers %d %.300s", path, form, own.Code, own.Body, module.Code, module.Body)
	}
	for name, want := range module.Header() {
		if got := own.Header()[name]; !slices.Equal(got, want) {
			t.Errorf("%s %v: %s: %q, the module's is %q", path, form, name, got, want)
		}
	}
}

// Methods other than GET and POST get the answer of the module's router.
func TestRefusedMethods(t *testing.T) {
	a := New(testAPIOptions(t, demoStore(t)))
	for _, path := range []string{queryPath, rangePath} {
		for _, method := range []string{http.MethodHead, http.MethodPut, http.MethodDelete} {
			answers := [2]*httptest.ResponseRecorder{}
			for i, h := range []http.Handler{a, a.module} {
				answers[i] = httptest.NewRecorder()
				h.ServeHTTP(answers[i], httptest.NewRequest(method, path+"?query=1&start=0&end=1&step=1", nil))
			}
			if own, module := answers[0], answers[1]; own.Code != module.Code || own.Code != http.StatusMethodNotAllowed || own.Body.String() != module.Body.String() {
				t.Errorf("%s %s: %d %s, the module answers %d %s", method, path, own.Code, own.Body, module.Code, module.Body)
			}
		}
	}
}
