package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// TestHandbook: each page of the handbook is served, and each of its links, pictures and anchors is there.
func TestHandbook(t *testing.T) {
	r := chi.NewRouter()
	Page{}.Routes(r)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	link := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	pages := 0
	for name, file := range handbook() {
		if path.Ext(name) != ".html" {
			continue
		}
		pages++
		got := fetch(t, server.URL+handbookPath+name)
		if got.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(got.header.Get("Content-Security-Policy"), "script-src 'self';") {
			t.Errorf("%s: %v", name, got.header)
		}
		if got.body != string(file.plain) {
			t.Errorf("%s is not what was rendered", name)
		}
		for _, m := range link.FindAllStringSubmatch(got.body, -1) {
			checkHandbookLink(t, server.URL, name, m[1])
		}
	}
	if pages < 20 {
		t.Errorf("only %d pages", pages)
	}
}

func checkHandbookLink(t *testing.T, server, page, link string) {
	t.Helper()
	if strings.Contains(link, "://") || link == "../" {
		return
	}
	file, anchor, _ := strings.Cut(link, "#")
	if file == "" {
		file = page
	}
	target, ok := handbook()[file]
	switch {
	case !ok:
		t.Errorf("%s: the link %s leads nowhere", page, link)
	case anchor != "" && !strings.Contains(string(target.plain), `id="`+anchor+`"`):
		t.Errorf("%s: the link %s leads to no heading", page, link)
	case fetch(t, server+handbookPath+file).status != http.StatusOK:
		t.Errorf("%s: %s is not served", page, link)
	}
}

// TestHandbookFront: the path without a slash leads to the front page, also behind a proxy with a prefix, and what
// does not exist is 404.
func TestHandbookFront(t *testing.T) {
	r := chi.NewRouter()
	Page{}.Routes(r)
	server := httptest.NewServer(Under("/tsdb", r))
	t.Cleanup(server.Close)
	for _, at := range []string{"/docs", "/docs/", "/tsdb/docs", "/tsdb/docs/", "/docs/index.html"} {
		if got := fetch(t, server.URL+at); got.status != http.StatusOK || !strings.Contains(got.body, "<h1 id=\"the-handbook\">") {
			t.Errorf("%s: %d %.200s", at, got.status, got.body)
		}
	}
	for _, at := range []string{"/docs/nothing.html", "/docs/../page.go", "/docs/README.md"} {
		if got := fetch(t, server.URL+at); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", at, got.status)
		}
	}
}

type fetched struct {
	status int
	header http.Header
	body   string
}

func fetch(t *testing.T, url string) fetched {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fetched{answer.StatusCode, answer.Header, string(body)}
}
