package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

const (
	carbonAPIModule  = "github.com/go-graphite/carbonapi"
	carbonAPIVersion = "v0.18.2"
)

// carbonAPI is where carbonapi is.
var carbonAPI keptProgram

// carbonAPIBinary returns the path of a carbonapi, built in a module of its own.
func carbonAPIBinary(t testing.TB) string {
	t.Helper()
	return carbonAPI.path(t, "carbonapi", func() (string, func(work string) error) {
		return carbonAPIVersion, func(work string) error {
			return buildFrom(work, "carbonapi", carbonAPIModule+"/cmd/carbonapi", map[string]string{"go.mod": "carbonapi.mod", "go.sum": "carbonapi.sum"})
		}
	})
}

// startCarbonAPI runs a carbonapi over a server, without caches, and waits until it answers. A batch is how many series
// it asks for at once: with 0 it asks for patterns as they are, otherwise it finds what they match.
func startCarbonAPI(t testing.TB, server, protocol string, batch int) client {
	t.Helper()
	dir, addr := t.TempDir(), freeAddr(t)
	config := fmt.Sprintf(`listen: %q
expvar: {enabled: false}
cache: {type: "null"}
backendCache: {type: "null"}
tz: "UTC,0"
notFoundStatusCode: 200
maxBatchSize: %[2]d
logger: [{logger: "", file: "stderr", level: "warn", encoding: "console"}]
upstreams:
  tldCacheDisabled: true
  timeouts: &timeouts {find: "30s", render: "30s", connect: "10s"}
  backendsv2:
    backends:
      - {groupName: "tsdbridge", protocol: %[3]q, lbMethod: "broadcast", maxTries: 1, maxBatchSize: %[2]d, concurrencyLimit: 0, keepAliveInterval: "10s", maxIdleConnsPerHost: 10, timeouts: *timeouts, servers: [%[4]q]}
`, addr, batch, protocol, "http://"+server)
	path := filepath.Join(dir, "carbonapi.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	startProcess(t, dir, carbonAPIBinary(t), "-config", path)
	c := newClient(addr)
	eventually(t, waitTimeout, "carbonapi answers", func() error {
		_, err := c.do(t.Context(), http.MethodGet, "/lb_check", nil, nil)
		return err
	})
	return c
}
