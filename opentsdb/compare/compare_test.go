package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/client"
)

// serving is a client of a handler.
func serving(h http.HandlerFunc) client.Client {
	return client.Client{URL: "http://server", HTTP: &http.Client{Transport: client.HandlerTransport{Handler: h}}}
}

// answering is a client of a server that answers every request.
func answering(status int, body string) client.Client {
	return serving(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func testOptions(tsd, adapter client.Client) Options {
	return Options{TSD: tsd, Adapter: adapter, Timeout: time.Minute, Show: 2}
}

// Answers are compared by series, instant and value, whatever the order of the series is.
func TestCompare(t *testing.T) {
	const a, b = `{"metric":"a","tags":{"h":"x"},"aggregateTags":["d"],"dps":{"1":1,"2":2.5}}`, `{"metric":"b","dps":[[1,"NaN"]]}`
	refused := func(message string) string { return `{"error":{"message":"` + message + `"}}` }
	for _, c := range []struct {
		tsdStatus     int
		tsd           string
		adapterStatus int
		adapter       string
		want          string
	}{
		{200, "[" + a + "," + b + "]", 200, "[" + a + "," + b + "]", "2 series, 3 points, 0 differ"},
		{200, "[" + a + "," + b + "]", 200, "[" + b + "," + a + "]", "2 series, 3 points, 0 differ"},
		{200, "[" + a + "," + a + "]", 200, "[" + a + "," + a + "]", "2 series, 4 points, 0 differ"},
		{200, "[" + a + "]", 200, `[{"metric":"a","tags":{"h":"x"},"aggregateTags":["d"],"dps":[[2,25e-1],[1,1.0]]}]`, "1 series, 2 points, 0 differ"},
		{200, "[" + a + "]", 200, `[{"metric":"a","tags":{"h":"x"},"aggregateTags":["d"],"dps":{"2":3,"3":4,"4":5}}]`, "1 series, 4 points, 1 differ\n" +
			"  a{h=x} of all d: 4 of 4 instants differ\n    1: the TSD has 1, the adapter has no point\n    2: the TSD has 2.5, the adapter has 3"},
		{200, "[" + a + "]", 200, "[" + b + "]", "2 series, 3 points, 2 differ\n  a{h=x} of all d: only the TSD has it, with 2 points\n  b{}: only the adapter has it, with 1 points"},
		{200, "[" + a + "," + a + "," + a + "," + b + "]", 200, "[]", "4 series, 7 points, 4 differ\n  a{h=x} of all d: only the TSD has it, with 2 points\n  a{h=x} of all d: only the TSD has it, with 2 points\n  and 2 other series"},
		{200, `[{"metric":"a","dps":{"1":9007199254740993}}]`, 200, `[{"metric":"a","dps":{"1":9007199254740992}}]`, "1 series, 1 points, 1 differ\n" +
			"  a{}: 1 of 1 instants differ\n    1: the TSD has 9007199254740993, the adapter has 9007199254740992"},
		{200, `[{"metric":"a","dps":{"1":"NaN"}}]`, 200, `[{"metric":"a","dps":{"1":null}}]`, "1 series, 1 points, 1 differ\n  a{}: 1 of 1 instants differ\n    1: the TSD has NaN, the adapter has null"},
		{400, refused("no"), 400, refused("never"), "0 series, 0 points, 0 differ, both refuse"},
		{400, refused("no"), 404, refused("never"), "0 series, 0 points, 1 differ\n  the TSD refuses: 400 Bad Request: no\n  the adapter refuses: 404 Not Found: never"},
		{200, "[" + a + "]", 400, refused("no"), "1 series, 0 points, 1 differ\n  the TSD answers\n  the adapter refuses: 400 Bad Request: no"},
		{500, "no", 200, "[]", "the TSD: 500 Internal Server Error: no"},
		{200, "[]", 200, "[" + a, "the adapter: the answer of http://server/api/query: unexpected EOF"},
	} {
		res, err := Compare(t.Context(), testOptions(answering(c.tsdStatus, c.tsd), answering(c.adapterStatus, c.adapter)), Request{Body: []byte("{}")})
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%d series, %d points, %d differ", res.Series, res.Points, res.Differences)
			if res.Refused {
				got += ", both refuse"
			}
			got = strings.Join(append([]string{got}, res.Shown...), "\n")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s and %s: %s", c.tsd, c.adapter, diff)
		}
	}
}

// Values within the tolerance are equal.
func TestTolerance(t *testing.T) {
	c := comparison{Options: Options{Tolerance: 0.01}}
	for _, v := range []struct {
		a, b string
		want bool
	}{{"100", "101", true}, {"100", "102", false}, {"1.0", "1.009", true}, {"-1", "1", false}, {"0", "0.0001", false}, {"NaN", "NaN", true}, {"NaN", "1", false}, {"Infinity", "1e308", false}, {"x", "y", false}} {
		if got := c.equal(v.a, v.b); got != v.want {
			t.Errorf("%s and %s: %v", v.a, v.b, got)
		}
	}
}

// What would have to be held grows no further than its bound.
func TestCompareBounded(t *testing.T) {
	long := func(metric string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "[")
			for s := range 5 {
				_, _ = fmt.Fprintf(w, `%s{"metric":"%s%d","dps":[[0,0]`, ","[:min(s, 1)], metric, s)
				for n := range maxWaiting / 4 {
					if _, err := fmt.Fprintf(w, ",[%d,1]", n+1); err != nil {
						return
					}
				}
				_, _ = io.WriteString(w, "]}")
			}
			_, _ = io.WriteString(w, "]")
		}
	}
	if _, err := Compare(t.Context(), testOptions(serving(long("a")), serving(long("b"))), Request{Body: []byte("{}")}); err == nil || !strings.Contains(err.Error(), "other orders") {
		t.Error(err)
	}
}

// A server that does not answer in time could not be asked.
func TestCompareTimeout(t *testing.T) {
	o := testOptions(answering(200, "[]"), serving(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	o.Timeout = time.Millisecond
	if res, err := Compare(t.Context(), o, Request{Parameters: "m=sum:a"}); err == nil {
		t.Errorf("%+v", res)
	}
}

// Lines are requests with absolute times, which only read.
func TestParseLine(t *testing.T) {
	times := Times{Now: time.Unix(1700000000, 0), Newest: time.Minute}
	for line, want := range map[string]string{
		`{"start":"1h-ago","showQuery":true,"queries":[{"metric":"a"}]}`:                                           `{"end":1699999940000,"queries":[{"metric":"a"}],"start":1699996400000}`,
		`{"start":1356998400,"end":1356998500.250,"msResolution":true,"queries":[]}`:                               `{"end":1356998500250,"msResolution":true,"queries":[],"start":1356998400000}`,
		`{"start":1356998400,"end":1356998500,"msResolution":true,"queries":[]}`:                                   `{"end":1356998500000,"msResolution":true,"queries":[],"start":1356998400000}`,
		`{"start":"2013/01/01","end":"2013/01/02","timezone":"America/New_York","queries":[]}`:                     `{"end":1357102800000,"queries":[],"start":1357016400000,"timezone":"America/New_York"}`,
		`http://tsd:4242/api/query?start=1h-ago&m=sum:a{h=*}&show_stats&jsonp=f`:                                   `/api/query?end=1699999940000&m=sum%3Aa%7Bh%3D%2A%7D&start=1699996400000`,
		`10.0.0.1 - - [01/Jan/2026] "GET /api/query?start=1356998400&end=1356998500&m=sum:a&ms=true HTTP/1.1" 200`: `/api/query?end=1356998500000&m=sum%3Aa&ms=true&start=1356998400000`,
		`{"start":"1h-ago","queries":[{"metric":"a","rateOptions":{"counterMax":NaN}}]} and more`:                  `{"end":1699999940000,"queries":[{"metric":"a","rateOptions":{"counterMax":"NaN"}}],"start":1699996400000}`,
		`{"start":"1h-ago","delete":"true","queries":[{"metric":"a"}]}`:                                            "it deletes what it asks for",
		`/api/query?start=1h-ago;m=sum:a;;ms`:                                                                      `/api/query?end=1699999940000&m=sum%3Aa&ms=&start=1699996400000`,
		`{"start":"1h-ago","delete":true,"queries":[{"metric":"a"}]}`:                                              "it deletes what it asks for",
		`/api/query?start=1h-ago&m=sum:a&method_override=delete`:                                                   "it deletes what it asks for",
		`/api/query?start=30s-ago&m=sum:a`:                                                                         "all that it asks for is too young",
		`/api/query?m=sum:a`:                                                                                       "Invalid time",
		`/api/query?start=1h-ago`:                                                                                  "it has no request of /api/query",
		`{"start":"1h-ago"}`:                                                                                       "it has no request of /api/query",
		`GET /api/suggest?q=`:                                                                                      "it has no request of /api/query",
		`# /api/query?start=1h-ago&m=sum:a`:                                                                        "it has no request of /api/query",
		``:                                                                                                         "it has no request of /api/query",
		`{`:                                                                                                        "unexpected end after 1 bytes",
	} {
		r, err := ParseLine(line, times)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		if err == nil {
			if again, err := ParseLine(got, times); err != nil || again.String() != got {
				t.Errorf("%s again: %s, %v", got, again, err)
			}
		}
	}
}

// No line makes a request that deletes, or one without absolute times.
func FuzzParseLine(f *testing.F) {
	f.Add(`{"start":"1h-ago","queries":[{}]}`)
	f.Add(`{"start":1,"Delete":"TRUE","dElete":1,"queries":[{}]}`)
	f.Add(`/api/query?start=1h-ago&m=sum:a&delete`)
	times := Times{Now: time.Unix(1700000000, 0)}
	f.Fuzz(func(t *testing.T, line string) {
		r, err := ParseLine(line, times)
		if err != nil {
			return
		}
		if r.Body == nil {
			if strings.Contains(strings.ToLower(r.Parameters), "method_override=") {
				t.Fatalf("%q: %s", line, r)
			}
			return
		}
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		for name := range body {
			if strings.EqualFold(name, "delete") {
				t.Fatalf("%q: %s", line, r)
			}
		}
		if _, ok := body["end"].(float64); !ok {
			t.Fatalf("%q: %s", line, r)
		}
	})
}

// A run counts, prints what differs and goes on after what could not be asked. Random requests are the same for a seed.
func TestRun(t *testing.T) {
	var asked []string
	tsd := serving(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.RequestURI()+" "+string(body))
		switch {
		case strings.HasPrefix(r.URL.Path, "/api/suggest"):
			_, _ = io.WriteString(w, `["b","a"]`)
		case strings.Contains(string(body), "broken"):
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, `[{"metric":"a","tags":{"host":"x"},"aggregateTags":["dc"],"dps":{"1":1}}]`)
		}
	})
	adapter := serving(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		value := 1
		if strings.Contains(string(body), "different") {
			value = 2
		}
		_, _ = fmt.Fprintf(w, `[{"metric":"a","tags":{"host":"x"},"aggregateTags":["dc"],"dps":{"1":%d}}]`, value)
	})
	var out, complaints strings.Builder
	r := &Run{Options: testOptions(tsd, adapter), Times: Times{Now: time.Unix(1700000000, 0)}, Out: &out, Err: &complaints}
	text := `{"start":1356998400,"queries":[{"metric":"same"}]}
{"start":1356998400,"end":1356998500,"queries":[{"metric":"different"}]}
{"start":1356998400,"end":1356998500,"queries":[{"metric":"broken"}]}
nothing
{"start":"x","queries":[]}
`
	if err := r.Lines(t.Context(), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	const want = `{"end":1356998500000,"queries":[{"metric":"different"}],"start":1356998400000}
  a{host=x} of all dc: 1 of 1 instants differ
    1: the TSD has 1, the adapter has 2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if got := r.String(); got != "3 requests: 1 equal, 1 different, 1 could not be asked; 2 series and 2 instants compared; 2 lines skipped" {
		t.Error(got)
	}
	if got := complaints.String(); !strings.Contains(got, "could not be asked: the TSD: 503") || !strings.Contains(got, "line 5 is skipped: Invalid time: x") {
		t.Error(got)
	}
	var runs [2][]string
	for i := range runs {
		asked = nil
		s, err := NewSampler(t.Context(), r.Options, r.Times, 48*time.Hour, 7)
		if err != nil {
			t.Fatal(err)
		}
		r.Summary = Summary{}
		if err := r.Sample(t.Context(), s, 50); err != nil || r.Equal != 50 {
			t.Fatal(err, r.Summary)
		}
		runs[i] = asked
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" || !strings.Contains(strings.Join(asked, ""), `"tagk":"dc"`) {
		t.Errorf("%s\n%v", diff, asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Lines(ctx, strings.NewReader(text)); err == nil {
		t.Error("an interrupted run has no error")
	}
}
