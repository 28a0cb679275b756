package e2e_test

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// collectorVersion is that of testdata/collector/collector.mod.
const collectorVersion = "v0.160.0"

// collectorBuild is where the OpenTelemetry Collector is.
var collectorBuild keptProgram

// collectorBinary returns the path of an OpenTelemetry Collector with a few parts, built in a module of its own.
func collectorBinary(t testing.TB) string {
	t.Helper()
	return collectorBuild.path(t, "collector", func() (string, func(work string) error) {
		source, err := os.ReadFile(filepath.Join("testdata", "collector", "main.go"))
		return fmt.Sprintf("%s-%08x", collectorVersion, crc32.ChecksumIEEE(source)), func(work string) error {
			if err != nil {
				return err
			}
			return buildFrom(work, "collector", ".", map[string]string{"go.mod": "collector.mod", "go.sum": "collector.sum", "main.go": "main.go"})
		}
	})
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
