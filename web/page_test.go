package web

import (
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

func ask(t *testing.T, p Page, method, path string, header http.Header) *http.Response {
	t.Helper()
	r := chi.NewRouter()
	p.Routes(r)
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	maps.Copy(req.Header, header)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page runs no script and no style that did not come with it, and no other page can frame it, whatever the method.
func TestPolicy(t *testing.T) {
	nonces := map[string]bool{}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
		answer := ask(t, Page{Version: `1"><script>`, Admin: true}, method, "/", nil)
		policy := answer.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", method, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || answer.Header.Get("X-Frame-Options") != "DENY" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", method, answer.Header)
		}
		nonce := regexp.MustCompile(`'nonce-(\w+)'`).FindStringSubmatch(policy)
		if len(nonce) != 2 || nonces[nonce[1]] {
			t.Fatalf("%s: the nonce of %q is not new", method, policy)
		}
		nonces[nonce[1]] = true
		text := body(t, answer)
		if method == http.MethodHead {
			if text != "" {
				t.Errorf("HEAD has a body: %q", text)
			}
			continue
		}
		if !strings.Contains(text, nonce[1]) || strings.Contains(text, `1"><script>`) || !strings.Contains(text, `name="tsdbridge-admin" content="true"`) {
			t.Errorf("page %s", text)
		}
		if inline := regexp.MustCompile(`<script>|<style|\sstyle=|\son\w+=|https?://|(href|src)="/`).FindString(text); inline != "" {
			t.Errorf("the page has %q", inline)
		}
	}
}

// All files of the page are there, in the weight that it may have.
func TestAssets(t *testing.T) {
	page := body(t, ask(t, Page{}, http.MethodGet, "/", nil))
	named := regexp.MustCompile(`assets/([\w.]+)`).FindAllStringSubmatch(page, -1)
	if len(named) != 3 {
		t.Fatalf("the page names %q", named)
	}
	weight := len(page)
	for _, m := range append(named, []string{"", "worker.js"}) {
		path := "/assets/" + m[1]
		answer := ask(t, Page{}, http.MethodGet, path, nil)
		plain := body(t, answer)
		if answer.StatusCode != http.StatusOK || plain == "" || answer.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %s, %d bytes, %v", path, answer.Status, len(plain), answer.Header)
		}
		packed := ask(t, Page{}, http.MethodGet, path, http.Header{"Accept-Encoding": {"gzip"}})
		small := body(t, packed)
		z, err := gzip.NewReader(strings.NewReader(small))
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != plain {
			t.Errorf("%s: packed it is another file: %v", path, err)
		}
		weight += len(small)
		again := ask(t, Page{}, http.MethodGet, path, http.Header{"If-None-Match": {answer.Header.Get("ETag")}})
		if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
			t.Errorf("%s again: %s", path, again.Status)
		}
	}
	if weight > 400<<10 {
		t.Errorf("the page weighs %d bytes, more than 400 KiB", weight)
	}
	if answer := ask(t, Page{}, http.MethodGet, "/assets/page.html", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown file: %s", answer.Status)
	}
}

// Paths below the external URL's are those below /, whether or not a proxy cuts the prefix off.
func TestUnder(t *testing.T) {
	seen := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	for _, test := range []struct{ url, path, want string }{
		{"", "/x", "200 /x"},
		{"https://host", "/tsdb/x", "200 /tsdb/x"},
		{"https://host/tsdb/", "/tsdb/api/v1/query", "200 /api/v1/query"},
		{"https://host/tsdb", "/tsdb/", "200 /"},
		{"https://host/tsdb/", "/tsdb", "308 /tsdb/"},
		{"https://host/tsdb/", "/api", "200 /api"},
		{"https://host/tsdb/", "/tsdbs/x", "200 /tsdbs/x"},
		{"http://host/a/b/", "/a/b/x", "200 /x"},
	} {
		prefix, err := Prefix(test.url)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		Under(prefix, seen).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil))
		got := http.StatusText(w.Code)
		switch w.Code {
		case http.StatusOK:
			got = "200 " + w.Body.String()
		case http.StatusPermanentRedirect:
			got = "308 " + w.Header().Get("Location")
		}
		if got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.path, test.url, got, test.want)
		}
	}
	for _, bad := range []string{"/tsdb/", "host/tsdb", "ftp://host/", "https://host/?x=1", "://"} {
		if prefix, err := Prefix(bad); err == nil {
			t.Errorf("Prefix(%q) = %q, want an error", bad, prefix)
		}
	}
}
