package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// TestForeignGets asks by GET, whose origin browsers do not tell over HTTP.
func TestForeignGets(t *testing.T) {
	for _, c := range []struct {
		method, agent, referer string
		foreign                bool
	}{
		{"GET", "curl/8", "", false},
		{"GET", "Mozilla/5.0", "", true},
		{"GET", "Mozilla/5.0", "http://tsd.example.org/page", false},
		{"GET", "Mozilla/5.0", "http://tsd.example.org.evil.org/", true},
		{"GET", "Mozilla/5.0", "tsd.example.org", true},
		{"HEAD", "Mozilla/5.0", "", true},
		{"POST", "Mozilla/5.0", "", false}, // a browser tells the origin of a foreign one
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "http://tsd.example.org/api/uid/assign", nil)
		r.Header.Set("User-Agent", c.agent)
		r.Header.Set("Referer", c.referer)
		if got := (*httpapi.Origins)(nil).Foreign(r); got != c.foreign {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestOrigins asks from pages of several origins.
func TestOrigins(t *testing.T) {
	const here, named, other = "http://tsd.example.org", "https://grafana.example.org", "https://evil.example.org"
	one, every := httpapi.NewOrigins([]string{"https://Grafana.example.org"}, "Accept"), httpapi.NewOrigins([]string{"*"}, "Accept")
	for _, c := range []struct {
		origins              *httpapi.Origins
		method, origin, site string
		foreign              bool
		status               int
		answered             bool
		allow                string
	}{
		{nil, "GET", "", "", false, 200, true, ""},
		{nil, "GET", here, "", false, 200, true, ""},
		{nil, "GET", other, "", true, 200, true, ""},
		{nil, "GET", "null", "", true, 200, true, ""},
		{nil, "GET", "", "cross-site", true, 200, true, ""},
		{nil, "GET", "", "same-site", true, 200, true, ""},
		{nil, "GET", "", "none", false, 200, true, ""},
		{nil, "OPTIONS", other, "", true, 405, false, ""},
		{one, "OPTIONS", "", "", false, 405, false, ""},
		{one, "OPTIONS", named, "cross-site", false, 200, false, named},
		{one, "GET", named, "cross-site", false, 200, true, named},
		{one, "GET", other, "", true, 200, false, ""},
		{every, "GET", other, "", true, 200, true, other},
		{every, "OPTIONS", other, "", true, 200, false, other},
	} {
		answered := false
		h := c.origins.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered = true }))
		r := httptest.NewRequestWithContext(t.Context(), c.method, here+"/api/query", nil)
		for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := c.origins.Foreign(r); got != c.foreign {
			t.Errorf("%+v: foreign %v", c, got)
		}
		if allow := w.Header().Get("Access-Control-Allow-Origin"); w.Code != c.status || answered != c.answered || allow != c.allow {
			t.Errorf("%+v: status %d, answered %v, allowed %q", c, w.Code, answered, allow)
		}
	}
}
