package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// prometheusServer is a running Prometheus. Its client sends requests to it.
type prometheusServer struct {
	client
	process *process
	addr    string // host:port
	dir     string
}

// prometheusConfig scrapes the targets in targets.json each second. remote_write and remote_read
// follow it.
const prometheusConfig = `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s, scrape_native_histograms: true}
scrape_configs:
  - job_name: e2e
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
`

// startPrometheus runs the Prometheus of go.mod on a free port, scraping nothing yet, with more of
// the configuration and of the flags, and waits until it is ready. It is killed when the test ends.
func startPrometheus(t testing.TB, config string, flags ...string) *prometheusServer {
	t.Helper()
	return startPrometheusConfig(t, prometheusConfig+config, flags...)
}

// startPrometheusConfig is startPrometheus with a whole configuration.
func startPrometheusConfig(t testing.TB, config string, flags ...string) *prometheusServer {
	t.Helper()
	return startPrometheusOver(t, config, "", flags...)
}

// startPrometheusOver is startPrometheusConfig with a copy of a data directory, if one is named.
func startPrometheusOver(t testing.TB, config, data string, flags ...string) *prometheusServer {
	t.Helper()
	p := &prometheusServer{dir: t.TempDir()}
	if data != "" {
		if err := os.CopyFS(filepath.Join(p.dir, "data"), os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
	}
	p.Scrape(t, nil)
	p.write(t, "prometheus.yml", []byte(config))
	flags = append([]string{"--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address=127.0.0.1:0", "--enable-feature=exemplar-storage"}, flags...)
	p.process = startProcess(t, p.dir, prometheusBinary(t, "prometheus"), flags...)
	line, err := p.process.out.line(`msg="Listening on"`)
	if err != nil {
		t.Fatalf("start prometheus: %v\n%s", err, p.process.out.tail())
	}
	p.addr = regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(line)[1]
	p.client = newClient(p.addr)
	eventually(t, waitTimeout, "prometheus ready", func() error {
		if r, err := p.do(t.Context(), http.MethodGet, "/-/ready", nil, nil); err != nil || r.status != http.StatusOK {
			return fmt.Errorf("%v %w", r, err)
		}
		return nil
	})
	return p
}

// Scrape makes these the targets: job -> host:port. Prometheus marks the series of removed targets
// as stale.
func (p *prometheusServer) Scrape(t testing.TB, targets map[string]string) {
	t.Helper()
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := []group{}
	for job, addr := range targets {
		groups = append(groups, group{[]string{addr}, map[string]string{"job": job}})
	}
	raw, err := json.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "targets.json", raw)
}

// write replaces a file in one step: Prometheus watches some.
func (p *prometheusServer) write(t testing.TB, name string, content []byte) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
