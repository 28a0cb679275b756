package e2e_test

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// collectorVersion is that of testdata/collector/collector.mod.
const collectorVersion = "v0.160.0"

// collectorBuild is where the OpenTelemetry Collector is. It is built once.
var collectorBuild struct {
	once sync.Once
	path string
	err  error
}

// collectorBinary returns the path of an OpenTelemetry Collector with a few parts, built in a module of its own and kept
// for later runs.
func collectorBinary(t testing.TB) string {
	t.Helper()
	b := &collectorBuild
	b.once.Do(func() {
		source, err := os.ReadFile(filepath.Join("testdata", "collector", "main.go"))
		if err != nil {
			b.err = err
			return
		}
		name := fmt.Sprintf("collector-%s-%08x-%s-%s", collectorVersion, crc32.ChecksumIEEE(source), runtime.Version(), runtime.GOARCH)
		b.path, b.err = keptFolder(name, "collector", buildCollector)
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.path, "collector")
}

// buildCollector builds testdata/collector. "go mod init" and "go get" of the versions made its module: the sums are
// those that were recorded.
func buildCollector(work string) error {
	for name, from := range map[string]string{"go.mod": "collector.mod", "go.sum": "collector.sum", "main.go": "main.go"} {
		text, err := os.ReadFile(filepath.Join("testdata", "collector", from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "build", "-mod=readonly", "-buildvcs=false", "-o", "collector", ".")
	cmd.Dir, cmd.Env = work, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the collector: %w\n%s", err, out)
	}
	return nil
}

// An otelCollector is a running OpenTelemetry Collector. Its client sends to its receiver of OTLP.
type otelCollector struct {
	client
	process *process
}

// startCollector runs a Collector that sends what it receives to exporters, each the name of one and its configuration. It
// answers a request when all exporters have sent it, which they repeat for a minute.
func startCollector(t testing.TB, exporters map[string]string) *otelCollector {
	t.Helper()
	dir, addr := t.TempDir(), freeAddr(t)
	config, names := "exporters:\n", ""
	for name, settings := range exporters {
		config += fmt.Sprintf("  %s: {%s, retry_on_failure: {initial_interval: 50ms, max_interval: 500ms, max_elapsed_time: 2m}}\n", name, settings)
		names += name + ", "
	}
	config += fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [%s]}}
`, addr, names)
	path := filepath.Join(dir, "collector.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &otelCollector{client: newClient(addr), process: startProcess(t, dir, collectorBinary(t), "--config=file:"+path)}
	eventually(t, waitTimeout, "collector answers", func() error {
		select {
		case <-c.process.done:
			t.Fatalf("the collector ended:\n%s", c.process.out.tail())
		default:
		}
		r, err := c.do(t.Context(), http.MethodPost, "/v1/metrics", map[string]string{"Content-Type": "application/x-protobuf"}, nil)
		if err != nil || r.status != http.StatusOK {
			return fmt.Errorf("%v %w\n%s", r, err, c.process.out.tail())
		}
		return nil
	})
	return c
}
