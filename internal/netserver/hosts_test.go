package netserver

import (
	"bufio"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	h, err := ParseHosts([]string{"metrics.example.org, TSDB.example.org.", "*.example.net"})
	if err != nil {
		t.Fatal(err)
	}
	h.Add("external.example.com:8443", ":9201", "", "[::]:4242")
	for host, want := range map[string]bool{
		"": true, "localhost": true, "LocalHost:9201": true, "localhost.": true, "x.localhost:1": true, "tsdbridge:9201": true,
		"127.0.0.1:9201": true, "10.0.0.1": true, "[::1]:9201": true, "[::1]": true, "[fe80::1%25eth0]:80": true, "[::ffff:10.0.0.1]": true,
		"tsdbridge.monitoring.svc:9201": true, "tsdbridge.monitoring.svc.cluster.local": true, "nas.home.arpa": true, "db.internal": true,
		"metrics.example.org": true, "METRICS.Example.ORG.:80": true, "tsdb.example.org": true, "external.example.com": true, "external.example.com:1": true,
		"a.example.net": true, "a.b.example.net": true, "example.net": false,
		"evil.com": false, "EVIL.com:9201": false, "evil.com.": false, "example.org": false, "x.metrics.example.org": false, "metrics.example.org.evil.com": false,
		"127.0.0.1.evil.com": false, "localhost.evil.com": false, "xlocal.com": false, "evillocal": true, "evil.svc.com": false, "127.1": false,
		"evil.com:80:localhost": false, "[::1].evil.com": false, "notexample.net": false,
	} {
		if got := h.allow(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
	for _, bad := range []string{"", "https://metrics.example.org", "a/b", "*", "*.*.org", "a,,b"} {
		if _, err := ParseHosts([]string{bad}); (err == nil) != (bad == "*") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Browsers are refused for foreign hosts, by whatever they or a script in them send; programs and probes are not.
func TestHostsGuard(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	guard := (&Hosts{}).Guard(served, slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		request string
		want    int
	}{
		{"GET /api/v1/query HTTP/1.1\r\nHost: evil.com\r\nOrigin: http://evil.com\r\n\r\n", 403},
		{"GET /api/v1/query HTTP/1.1\r\nHost: evil.com\r\nOrigin: null\r\n\r\n", 403},
		{"GET / HTTP/1.1\r\nHost: evil.com\r\nSec-Fetch-Site: same-origin\r\n\r\n", 403},
		{"GET / HTTP/1.1\r\nHost: evil.com\r\nsec-fetch-mode: cors\r\n\r\n", 403},
		{"GET / HTTP/1.1\r\nHost: evil.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n\r\n", 403},
		{"GET / HTTP/1.1\r\nHost: evil.com\r\nUser-Agent: curl/8\r\nX-Forwarded-For: 10.0.0.1\r\nAccept-Language:\r\n\r\n", 403},
		{"GET / HTTP/1.1\r\nHost: evil.com\r\nReferer: http://evil.com/\r\n\r\n", 403},
		{"GET http://evil.com/ HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.com\r\n\r\n", 403},
		{"POST /metrics HTTP/1.1\r\nHost: evil.com\r\nOrigin: http://evil.com\r\nContent-Length: 0\r\n\r\n", 403},
		{"OPTIONS / HTTP/1.1\r\nHost: evil.com\r\nOrigin: http://evil.com\r\n\r\n", 403},
		{"GET /-/healthy HTTP/1.1\r\nHost: evil.com\r\nOrigin: http://evil.com\r\n\r\n", 204},
		{"GET / HTTP/1.1\r\nHost: 10.0.0.1:9201\r\nOrigin: http://10.0.0.1:9201\r\n\r\n", 204},
		{"GET http://localhost:9201/ HTTP/1.1\r\nHost: evil.com\r\nOrigin: http://localhost:9201\r\n\r\n", 204},
		{"GET / HTTP/1.1\r\nHost: metrics.example.org\r\nUser-Agent: Prometheus/3.15.0\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n", 204},
		{"GET / HTTP/1.1\r\nHost: metrics.example.org\r\nUser-Agent: Grafana/12\r\n\r\n", 204},
		{"GET /metrics HTTP/1.1\r\nHost: metrics.example.org\r\nUser-Agent: kube-probe/1.34\r\n\r\n", 204},
		{"GET / HTTP/1.1\r\nHost: metrics.example.org\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n", 204},
		{"GET / HTTP/1.0\r\n\r\n", 204},
	} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(c.request)))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%q: %d, want %d", c.request, w.Code, c.want)
		}
		if w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), "--web.hosts") {
			t.Errorf("%q: %s does not name the flag", c.request, w.Body)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}
}
