package adapter

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Pages of a foreign host reach no HTTP port, with or without a prefix in the path and by all methods; those of the hosts that
// the flags name do, and so do programs.
func TestForeignHosts(t *testing.T) {
	o := storeTestOptions(t, write.Through)
	o.OpenTSDB.ListenAddress, o.OpenTSDB.OpenPuts = "127.0.0.1:0", true
	o.Hosts, o.ExternalURL = []string{"tsdb.example.org"}, "https://metrics.example.org/tsdb/"
	a, stop := runAdapter(t, o)
	defer stop()
	ask := func(address, method, path, host string, browser bool) int {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		if browser {
			r.Header.Set("Accept-Language", "de")
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	for _, address := range []string{a.Addr(), a.opentsdb.Addr()} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, path := range []string{"/api/version", "/tsdb/api/version", "/api/put", "/metrics", "/api/v1/write", "/nothing"} {
				if got := ask(address, method, path, "evil.com", true); got != http.StatusForbidden {
					t.Errorf("%s %s of a page: %d, want 403", method, path, got)
				}
				_, port, _ := net.SplitHostPort(address)
				for _, host := range []string{"", "tsdb.example.org:" + port, "METRICS.example.org"} {
					if got := ask(address, method, path, host, true); got == http.StatusForbidden {
						t.Errorf("%s %s of a page of %q: %d", method, path, host, got)
					}
				}
				if got := ask(address, method, path, "evil.com", false); got == http.StatusForbidden {
					t.Errorf("%s %s of a program: %d", method, path, got)
				}
			}
		}
	}
	o.Hosts = []string{"https://x.example.org"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--web.hosts") {
		t.Errorf("a URL: %v", err)
	}
}
