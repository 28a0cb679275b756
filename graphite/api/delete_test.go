package api

import (
	"net/http"
	"strings"
	"testing"
)

const (
	dryDeletion  = `{"query": "a.*", "dryRun": true, "series": 2, "metrics": ["a.b", "a.c"]}`
	realDeletion = `{"query": "a.*", "dryRun": false, "series": 2, "metrics": ["a.b", "a.c"]}`
)

// TestDeleteMetrics: what a pattern matches is deleted with its points, after a dry run, and comes back
// when it sends again.
func TestDeleteMetrics(t *testing.T) {
	w := newWeb(t, func(o *Options) { o.AllowDelete = true })
	w.Add(t, strings.NewReader("a.b 1 1741050010\na.c 2 1741050010\nb 3 1741050010\nt;k=v 4 1741050010\n"))
	for _, c := range []struct{ url, want string }{
		{"/metrics?query=a.*", dryDeletion},
		{"/metrics?query=a.*&dryRun=1", dryDeletion},
		{"/metrics?query=a.*&dryRun=0", realDeletion},
		{"/metrics?query=a.*&dryRun=0", `{"query": "a.*", "dryRun": false, "series": 0, "metrics": []}`},
		{"/metrics?query=t%3Bk%3Dv&dryRun=false", `{"query": "t;k=v", "dryRun": false, "series": 1, "metrics": ["t;k=v"]}`},
	} {
		if got := w.send(http.MethodDelete, c.url, ""); got.Code != http.StatusOK || got.Body.String() != c.want {
			t.Errorf("DELETE %s answers %d %s", c.url, got.Code, got.Body)
		}
	}
	if got := w.get("/metrics/expand?query=**").Body.String(); got != `{"results": ["b"]}` {
		t.Errorf("left: %s", got)
	}
	if got := w.get("/render?target=a.b&target=t%3Bk%3Dv&from=1741050000&until=1741050060&format=json").Body.String(); got != "[]" {
		t.Errorf("drawn: %s", got)
	}
	w.Add(t, strings.NewReader("a.b 5 1741050020\n"))
	if got := w.get("/metrics/expand?query=a.*").Body.String(); got != `{"results": ["a.b"]}` {
		t.Errorf("after a new point: %s", got)
	}
}

// TestRefusedDeletions: nothing is deleted without the flag, by pages of other origins, or by mistake.
func TestRefusedDeletions(t *testing.T) {
	for _, c := range []struct {
		allow  bool
		url    string
		header []string
		status int
	}{
		{false, "/metrics?query=a.*&dryRun=0", nil, http.StatusMethodNotAllowed},
		{true, "/metrics?query=a.*&dryRun=0", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{true, "/metrics?dryRun=0", nil, http.StatusBadRequest},
		{true, "/metrics?query=a.*&dryRun=no", nil, http.StatusBadRequest},
		{true, "/metrics/find?query=a.*", nil, http.StatusOK}, // a search, as in graphite-web
	} {
		w := newWeb(t, func(o *Options) { o.AllowDelete = c.allow })
		w.Add(t, strings.NewReader("a.b 1 1741050010\n"))
		if got := w.send(http.MethodDelete, c.url, "", c.header...); got.Code != c.status {
			t.Errorf("DELETE %s answers %d %s", c.url, got.Code, got.Body)
		}
		if got := w.get("/metrics/expand?query=a.*").Body.String(); got != `{"results": ["a.b"]}` {
			t.Errorf("after %s: %s", c.url, got)
		}
	}
}

// TestDelSeries: series without points leave the index of tags; those with points only with the flag.
func TestDelSeries(t *testing.T) {
	for _, allow := range []bool{false, true} {
		w := newWeb(t, func(o *Options) { o.AllowDelete = allow })
		w.Add(t, strings.NewReader("full;k=v 1 1741050010\nplain 1 1741050010\n"))
		w.post("/tags/tagMultiSeries", "path=empty%3Bk%3Dv&path=empty%3Bk%3Dw")
		status := func(body string) int { return w.post("/tags/delSeries", body).Code }
		full := map[bool]int{false: http.StatusForbidden, true: http.StatusOK}[allow]
		if status("path=empty%3Bk%3Dv&path=nosuch%3Ba%3Db&path=plain") != http.StatusOK || status("path=full%3Bk%3Dv") != full {
			t.Errorf("allow %v: delSeries fails", allow)
		}
		want := map[bool]string{false: `["empty;k=w", "full;k=v"]`, true: `["empty;k=w"]`}[allow]
		if got := w.get("/tags/findSeries?expr=k%3D~.").Body.String(); got != want {
			t.Errorf("allow %v: left are %s", allow, got)
		}
		if got := w.get("/metrics/find?query=plain&format=json").Body.String(); !strings.Contains(got, "plain") {
			t.Errorf("allow %v: plain: %s", allow, got)
		}
	}
}
