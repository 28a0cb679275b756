package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRecordedGrafana replays what Grafana's data source asks: its test, editor, panels, alerts, tags, variables
// and annotations.
func TestRecordedGrafana(t *testing.T) {
	w := newFeed(t)
	for _, c := range readRecordings(t, "testdata/grafana.jsonl", func(recording) bool { return true }) {
		if _, diff := c.replay(w); diff != "" {
			t.Errorf("%s [%s] %s %s %s\n      %s", c.ID, c.Group, c.Method, c.URL, c.Data, diff)
		}
	}
}

// TestRecordedChanges replays changes of the index of tags. docs/graphite.md tells what is answered otherwise.
func TestRecordedChanges(t *testing.T) {
	w := newFeed(t)
	otherwise := map[string]bool{"/tags/findSeries?expr=name=untagged.name": true, "/tags/zone": true}
	for _, c := range readRecordings(t, "testdata/changing.jsonl", func(recording) bool { return true }) {
		if _, diff := c.replay(w); (diff != "") != otherwise[c.URL] {
			t.Errorf("%s %s %s %s\n      %s", c.ID, c.Method, c.URL, c.Data, diff)
		}
	}
}

// TestRecordedEvents replays the recorded requests about events.
func TestRecordedEvents(t *testing.T) {
	w := newWeb(t, func(o *Options) { o.Now = func() time.Time { return time.Unix(webNow+1e6, 0) } }) // recorded later
	for _, c := range readRecordings(t, "testdata/events.jsonl", func(recording) bool { return true }) {
		if _, diff := c.replay(w); diff != "" {
			t.Errorf("%s %s %s %s\n      %s", c.ID, c.Method, c.URL, c.Data, diff)
		}
	}
}

// send sends an event or another body as JSON.
func (w *web) send(method, url, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return w.do(r)
}

// TestDeletedEvent: an event that is deleted is gone everywhere; one of a TSD stays.
func TestDeletedEvent(t *testing.T) {
	w := newWeb(t)
	for i := range 3 {
		if got := w.send(http.MethodPost, "/events/", fmt.Sprintf(`{"what":"e%d","when":1741050100}`, i)); got.Code != http.StatusOK {
			t.Fatal(got.Code, got.Body)
		}
	}
	want := `{"id": 2, "when": "2025-03-04T01:01:40Z", "what": "e1", "data": "", "tags": []}`
	if got := w.send(http.MethodDelete, "/events/2", ""); got.Code != http.StatusOK || got.Body.String() != want {
		t.Errorf("DELETE answers %d %s", got.Code, got.Body)
	}
	for url, want := range map[string]string{
		"/events/get_data?from=0": `[{"when": 1741050100, "what": "e0", "data": "", "tags": [], "id": 1}, {"when": 1741050100, "what": "e2", "data": "", "tags": [], "id": 3}]`,
		"/events/2":               `{"error": "Event matching query does not exist"}`,
	} {
		if got := w.get(url); got.Body.String() != want {
			t.Errorf("%s answers %d %s", url, got.Code, got.Body)
		}
	}
	if got := w.send(http.MethodDelete, "/events/2", ""); got.Code != http.StatusNotFound {
		t.Errorf("DELETE again answers %d %s", got.Code, got.Body)
	}
}

// TestRefusedEvents: what is too large, too much or from elsewhere is not stored.
func TestRefusedEvents(t *testing.T) {
	w := newWeb(t)
	long := strings.Repeat("x", 70<<10)
	for _, c := range []struct {
		name, method, url, body string
		header                  []string
		status                  int
	}{
		{"more than an annotation holds", http.MethodPost, "/events", `{"what":"` + long + `"}`, nil, http.StatusUnprocessableEntity},
		{"a body too large", http.MethodPost, "/events", `{"what":"` + strings.Repeat(long, 10) + `"}`, nil, http.StatusRequestEntityTooLarge},
		{"a page of another origin", http.MethodPost, "/events", `{"what":"x"}`, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"another origin deletes", http.MethodDelete, "/events/1", "", []string{"Origin", "http://elsewhere"}, http.StatusForbidden},
		{"deep", http.MethodPost, "/events", `{"what":` + strings.Repeat("[", 20_000), nil, http.StatusBadRequest},
		{"after all times", http.MethodPost, "/events", `{"what":"x","when":4294967296}`, nil, http.StatusBadRequest},
		{"many tags", http.MethodGet, "/events/get_data?tags=" + strings.Repeat("+", 2000), "", nil, http.StatusBadRequest},
	} {
		if got := w.send(c.method, c.url, c.body, c.header...); got.Code != c.status {
			t.Errorf("%s: %d %.200s, want %d", c.name, got.Code, got.Body, c.status)
		}
	}
	if got := w.get("/events/get_data?from=0"); got.Body.String() != "[]" {
		t.Errorf("stored: %.200s", got.Body)
	}
}

// TestEventsUntilNow: now is a moment within its second, so events of this second that are before it are
// found, and a range that begins now leaves them out.
func TestEventsUntilNow(t *testing.T) {
	now := time.Unix(webNow, 400_000_000)
	w := newWeb(t, func(o *Options) { o.Now = func() time.Time { return now } })
	for _, what := range []string{"before", "at"} {
		if got := w.send(http.MethodPost, "/events/", `{"what":"`+what+`"}`); got.Code != http.StatusOK {
			t.Fatal(got.Code, got.Body)
		}
		now = now.Add(200 * time.Millisecond)
	}
	now = now.Add(-200 * time.Millisecond)
	for query, want := range map[string]int{
		"until=now": 2, "": 2, "from=-1min&until=now": 2, "until=now-0s": 2, "from=now": 1, "from=-1s": 2, "until=-1s": 0,
		fmt.Sprintf("until=%d", webNow): 0, fmt.Sprintf("from=%d&until=%d", webNow, webNow+1): 2,
	} {
		if got := strings.Count(w.get("/events/get_data?"+query).Body.String(), `"what"`); got != want {
			t.Errorf("%q: %d events, want %d", query, got, want)
		}
	}
}
