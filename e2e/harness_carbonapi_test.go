package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

const (
	carbonAPIModule  = "github.com/go-graphite/carbonapi"
	carbonAPIVersion = "v0.18.2"
)

// carbonAPI is where carbonapi is. It is built once.
var carbonAPI struct {
	once sync.Once
	path string
	err  error
}

// carbonAPIBinary returns the path of a carbonapi, built in a module of its own and kept for later runs.
func carbonAPIBinary(t testing.TB) string {
	t.Helper()
	c := &carbonAPI
	c.once.Do(func() {
		name := fmt.Sprintf("carbonapi-%s-%s-%s", carbonAPIVersion, runtime.Version(), runtime.GOARCH)
		c.path, c.err = keptFolder(name, "carbonapi", buildCarbonAPI)
	})
	if c.err != nil {
		t.Fatal(c.err)
	}
	return filepath.Join(c.path, "carbonapi")
}

// buildCarbonAPI builds it by testdata/carbonapi, which "go mod init carbonapi" and "go get" of the version made: the sums of
// its modules are those that were recorded.
func buildCarbonAPI(work string) error {
	for name, from := range map[string]string{"go.mod": "carbonapi.mod", "go.sum": "carbonapi.sum"} {
		text, err := os.ReadFile(filepath.Join("testdata", "carbonapi", from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "build", "-mod=readonly", "-o", "carbonapi", carbonAPIModule+"/cmd/carbonapi")
	cmd.Dir, cmd.Env = work, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build carbonapi: %w\n%s", err, out)
	}
	return nil
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
