package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shownAddress is where the adapter of the README and the handbook listens. The tests replace nothing else in their
// texts.
const shownAddress = "localhost:9201"

// TestQuickStart starts the adapter without a flag, and a Prometheus with the lines that the README shows.
// TestHandbook follows the commands.
func TestQuickStart(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t, withCarbon) // no flag but free ports, in an empty directory
	if _, err := os.Stat(filepath.Join(a.dir, "data")); err != nil {
		t.Errorf("the store is not in ./data: %v", err)
	}
	p := startPrometheus(t, a.shownYAML(t, "README.md", "remote_write"))
	p.Scrape(t, map[string]string{"self": p.addr})
	eventually(t, 2*waitTimeout, "the first samples of Prometheus", func() error {
		out := shell(t, "curl '"+a.base+"/api/v1/query?query=up'")
		if !strings.Contains(out, `"__name__":"up"`) || !strings.Contains(out, `"1"]`) {
			return fmt.Errorf("up = %s", out)
		}
		return nil
	})
}

// TestRemoteReadShown starts a Prometheus with the lines for reading.
func TestRemoteReadShown(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	shell(t, "echo 'greeting{from=\"me\"} 42' | go tool promtool push metrics "+a.base+"/")
	p := startPrometheus(t, a.shownYAML(t, "docs/prometheus.md", "remote_read"))
	out := shell(t, "curl '"+p.URL("/api/v1/query?query=greeting")+"'")
	if !strings.Contains(out, `"42"]`) {
		t.Errorf("greeting through Prometheus = %s", out)
	}
}

// shell runs a command in the checkout, as its reader would, and returns what it prints.
func shell(t testing.TB, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = moduleRoot
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, problems.String())
	}
	return string(out)
}

// shownYAML returns the block of YAML of a page that begins with a key, with the address of the adapter.
func (a *adapter) shownYAML(t testing.TB, page, key string) string {
	t.Helper()
	for _, b := range fencedBlocks(readFile(t, filepath.Join(moduleRoot, page))) {
		if strings.HasPrefix(b.info, "yaml") && strings.HasPrefix(b.text, key+":") {
			return "\n" + strings.ReplaceAll(b.text, shownAddress, a.addr)
		}
	}
	t.Fatalf("%s has no block of YAML for %s", page, key)
	return ""
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
