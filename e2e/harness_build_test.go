package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// moduleRoot is where go test runs this package, one up.
const moduleRoot = ".."

const prometheusModule = "github.com/prometheus/prometheus"

// builds are the programs that tests run, each built once.
type builds struct {
	mu  sync.Mutex // guards all below; held while building
	dir string     // of the adapter, for this run alone
	// paths: of the program, and of the folder of prometheus and promtool
	adapter, prometheus string
}

// binaries are those of this run. The go tool's own cache makes building the adapter anew cheap and
// never outdated.
var binaries builds

// adapterBinary returns the path of the adapter built from this checkout.
func adapterBinary(t testing.TB) string {
	t.Helper()
	b := &binaries
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.adapter != "" {
		return b.adapter
	}
	dir, err := os.MkdirTemp("", "tsdbridge-e2e")
	if err != nil {
		t.Fatal(err)
	}
	b.dir = dir
	path := filepath.Join(dir, "tsdbridge")
	goTool(t, "build", "-o", path, ".")
	b.adapter = path
	return path
}

// prometheusBinary returns the path of prometheus or promtool, built from the module that go.mod
// names. They take long to link and never change for a version, so they are kept for later runs.
func prometheusBinary(t testing.TB, name string) string {
	t.Helper()
	b := &binaries
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.prometheus == "" {
		b.prometheus = buildPrometheus(t)
	}
	return filepath.Join(b.prometheus, name)
}

func buildPrometheus(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Version}}", prometheusModule))
	dir := filepath.Join(cache, "tsdbridge-e2e", fmt.Sprintf("prometheus-%s-%s-%s", version, runtime.Version(), runtime.GOARCH))
	if _, err := os.Stat(filepath.Join(dir, "promtool")); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "building")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	goTool(t, "build", "-o", work+string(filepath.Separator), prometheusModule+"/cmd/prometheus", prometheusModule+"/cmd/promtool")
	// The folder is moved as a whole: an interrupted run leaves no half of it. Another run may have
	// been faster.
	if err := os.Rename(work, dir); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return dir
}

// goTool runs the go command in the module and returns what it prints.
func goTool(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = moduleRoot
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, errors.String())
	}
	return string(out)
}

func (b *builds) remove() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}
