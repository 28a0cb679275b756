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
	version := strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Version}}", prometheusModule))
	dir, err := keptFolder(fmt.Sprintf("prometheus-%s-%s-%s", version, runtime.Version(), runtime.GOARCH), "promtool", func(work string) error {
		goTool(t, "build", "-o", work+string(filepath.Separator), prometheusModule+"/cmd/prometheus", prometheusModule+"/cmd/promtool")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// keptFolder returns a folder that is kept for later runs. Unless it has the file last in it, it is made in another
// place and moved as a whole: an interrupted run leaves no half of it.
func keptFolder(name, last string, fill func(work string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "tsdbridge-e2e", name)
	if _, err := os.Stat(filepath.Join(dir, last)); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "building")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := fill(work); err != nil {
		return "", err
	}
	if err := os.Rename(work, dir); err != nil && !os.IsExist(err) { // another run may have been faster
		return "", err
	}
	return dir, nil
}

// A keptProgram is built once, and kept for later runs.
type keptProgram struct {
	once sync.Once
	dir  string
	err  error
}

// path returns the path of the program. find is called once: its version is what the program depends on, and build makes
// it in a folder.
func (k *keptProgram) path(t testing.TB, program string, find func() (version string, build func(work string) error)) string {
	t.Helper()
	k.once.Do(func() {
		version, build := find()
		k.dir, k.err = keptFolder(fmt.Sprintf("%s-%s-%s-%s", program, version, runtime.Version(), runtime.GOARCH), program, build)
	})
	if k.err != nil {
		t.Fatal(k.err)
	}
	return filepath.Join(k.dir, program)
}

// buildFrom builds a program of a module that is made of files of testdata: their names in the module, and there. "go mod
// init" and "go get" of the versions made them, so the sums are those that were recorded.
func buildFrom(work, program, pkg string, files map[string]string) error {
	for name, from := range files {
		text, err := os.ReadFile(filepath.Join("testdata", program, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o600); err != nil {
			return err
		}
	}
	return goBuild(work, filepath.Join(work, program), pkg)
}

// goBuild builds a package of a module whose files are all there.
func goBuild(module, to, pkg string) error {
	cmd := exec.Command("go", "build", "-mod=readonly", "-buildvcs=false", "-o", to, pkg)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", filepath.Base(to), err, out)
	}
	return nil
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
