package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const checkout = "../.."

// needPrograms fails, and does not skip, where CI has forgotten to install something.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("TSDBRIDGE_E2E") != "" {
				t.Fatalf("%s is missing: make tools", name)
			}
			t.Skipf("%s is missing", name)
		}
	}
}

// built is a release for this machine, made once for all tests.
func built(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	if err := run(t.Context(), []string{"-repository", checkout, "-out", out, "-targets", runtime.GOOS + "/" + runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	return out
}

// The release of Linux: archive, packages, bill of materials and checksums, each used as its user does.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("deb and rpm are for Linux")
	}
	needPrograms(t, "dpkg", "dpkg-deb", "rpm", "rpm2cpio", "cpio", "systemd-analyze", "systemd-sysusers", "zsh", "fish")
	out := built(t)
	t.Run("sums", func(t *testing.T) { checkSums(t, out) })
	t.Run("archive", func(t *testing.T) { checkArchive(t, out) })
	t.Run("bill", func(t *testing.T) { checkBill(t, out) })
	t.Run("deb", func(t *testing.T) { checkInstalled(t, installDeb(t, out)) })
	t.Run("rpm", func(t *testing.T) { checkInstalled(t, unpackRPM(t, out)) })
	t.Run("again", func(t *testing.T) {
		again := built(t)
		if a, b := string(readFile(t, filepath.Join(out, "SHA256SUMS"))), string(readFile(t, filepath.Join(again, "SHA256SUMS"))); a != b {
			t.Errorf("two builds differ:\n%s\n%s", a, b)
		}
	})
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// one returns the only file that fits.
func one(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files[0]
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func checkSums(t *testing.T, out string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(string(readFile(t, filepath.Join(out, "SHA256SUMS")))) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(readFile(t, filepath.Join(out, name)))); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		lines++
	}
	if lines != 4 { // archive, deb, rpm, bill
		t.Errorf("%d sums, want 4", lines)
	}
}

// checkArchive unpacks the archive and runs its binary, which must be static.
func checkArchive(t *testing.T, out string) {
	t.Helper()
	dir := t.TempDir()
	f, err := gzip.NewReader(bytes.NewReader(readFile(t, one(t, filepath.Join(out, "*.tar.gz")))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(f); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		names = append(names, name)
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if name == "tsdbridge" {
			if err := os.WriteFile(filepath.Join(dir, name), text, os.FileMode(head.Mode)); err != nil { //nolint:gosec // of our own archive
				t.Fatal(err)
			}
		}
		if name == "THIRD-PARTY-NOTICES" && (!bytes.Contains(text, []byte("github.com/cockroachdb/pebble/v2 v2.")) || !bytes.Contains(text, []byte("The Go Authors"))) {
			t.Error("the notices lack Pebble or Go")
		}
	}
	want := []string{
		"CHANGELOG.md", "LICENSE", "README.md", "THIRD-PARTY-NOTICES", "completion/_tsdbridge", "completion/tsdbridge.bash", "completion/tsdbridge.fish",
		"grafana/tsdbridge.json", "man/tsdbridge.1", "prometheus/alerts.yml", "prometheus/recording.yml", "systemd/sysusers.conf", "systemd/tsdbridge.service", "systemd/tsdbridge.socket", "tsdbridge", "tsdbridge.yml",
	}
	if !slices.Equal(names, want) {
		t.Errorf("archive of %v, want %v", names, want)
	}
	if version := output(t, filepath.Join(dir, "tsdbridge"), "--version"); !regexp.MustCompile(`^tsdbridge \d+\.\d+\.\d+\+[0-9a-f]{12}\n$`).MatchString(version) {
		t.Errorf("version %q has no revision", version)
	}
	if err := checkELF(filepath.Join(dir, "tsdbridge"), runtime.GOARCH); err != nil {
		t.Error(err)
	}
}

// checkBill reads the bill as its readers do.
func checkBill(t *testing.T, out string) {
	t.Helper()
	var b cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(readFile(t, one(t, filepath.Join(out, "*.cdx.json")))), cdx.BOMFileFormatJSON).Decode(&b); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range *b.Components {
		if names[c.Name] = true; c.Version == "" || c.Licenses == nil || len(*c.Licenses) == 0 {
			t.Errorf("%s %s has no version or licence", c.Name, c.Version)
		}
	}
	if !names["std"] || !names["github.com/prometheus/prometheus"] || names["github.com/chromedp/chromedp"] || b.Metadata.Component.Name != module {
		t.Errorf("components of %s: %v", b.Metadata.Component.Name, names)
	}
}

// installDeb installs the deb into a root of its own, with its scripts.
func installDeb(t *testing.T, out string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output(t, "dpkg", "--root="+root, "--force-not-root", "--force-script-chrootless", "--log="+filepath.Join(root, "log"), "-i", one(t, filepath.Join(out, "*.deb")))
	if users := string(readFile(t, filepath.Join(root, "etc/passwd"))); !strings.Contains(users, "tsdbridge:") || !strings.Contains(users, ":/var/lib/tsdbridge:") {
		t.Errorf("users %s, want tsdbridge", users)
	}
	return root
}

// unpackRPM checks the sums of the rpm and unpacks it.
func unpackRPM(t *testing.T, out string) string {
	t.Helper()
	root, name := t.TempDir(), one(t, filepath.Join(out, "*.rpm"))
	if said := output(t, "rpm", "-K", "--nosignature", name); !strings.Contains(said, "digests OK") {
		t.Errorf("rpm -K: %s", said)
	}
	if said := output(t, "rpm", "-qp", "--nosignature", "--configfiles", name); !strings.Contains(said, "/etc/tsdbridge/tsdbridge.yml") {
		t.Errorf("configuration files of the rpm: %s", said)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", `rpm2cpio "$1" | cpio -idm --quiet --no-absolute-filenames`, "sh", name)
	c.Dir = root
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return root
}

// checkInstalled checks the units, and starts the binary with the configuration that comes with it, on a store of the
// oldest format that is kept.
func checkInstalled(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{"usr/share/man/man1/tsdbridge.1.gz", "usr/share/bash-completion/completions/tsdbridge", "usr/lib/sysusers.d/tsdbridge.conf", "usr/share/doc/tsdbridge/copyright"} {
		if len(readFile(t, filepath.Join(root, name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	checkWatching(t, root)
	checkCompletion(t, root)
	checkUnits(t, root)
	checkUpgrade(t, root)
}

// checkWatching checks that what watches the adapter comes with it, as it is in the checkout.
func checkWatching(t *testing.T, root string) {
	t.Helper()
	for from, to := range map[string]string{
		"deploy/prometheus/rules/alerts.yml": "prometheus/alerts.yml", "deploy/prometheus/rules/recording.yml": "prometheus/recording.yml",
		"deploy/grafana/dashboards/tsdbridge.json": "grafana/tsdbridge.json",
	} {
		if !bytes.Equal(readFile(t, filepath.Join(root, "usr/share/tsdbridge", to)), readFile(t, filepath.Join(checkout, from))) {
			t.Errorf("%s is not %s", to, from)
		}
	}
}

// checkUnits has systemd read the units, and rate the service.
func checkUnits(t *testing.T, root string) {
	t.Helper()
	units, binary := t.TempDir(), filepath.Join(root, "usr/bin/tsdbridge")
	for _, name := range []string{"tsdbridge.service", "tsdbridge.socket"} {
		text := strings.ReplaceAll(string(readFile(t, filepath.Join(root, "usr/lib/systemd/system", name))), "/usr/bin/tsdbridge", binary)
		if err := os.WriteFile(filepath.Join(units, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := output(t, "systemd-analyze", "verify", "--man=no", "--recursive-errors=one", filepath.Join(units, "tsdbridge.service"), filepath.Join(units, "tsdbridge.socket")); said != "" {
		t.Errorf("systemd-analyze verify: %s", said)
	}
	output(t, "systemd-analyze", "security", "--offline=yes", "--threshold=20", filepath.Join(units, "tsdbridge.service"))
}

// checkUpgrade starts the installed binary on a store that an earlier version left, and asks it for points.
func checkUpgrade(t *testing.T, root string) {
	t.Helper()
	data, config, binary := t.TempDir(), filepath.Join(root, "etc/tsdbridge/tsdbridge.yml"), filepath.Join(root, "usr/bin/tsdbridge")
	output(t, "tar", "-xzf", filepath.Join(checkout, "testdata/stores/format3.tar.gz"), "-C", data)
	if found, _ := filepath.Glob(filepath.Join(data, "*", "log")); len(found) == 1 {
		data = filepath.Dir(found[0])
	}
	t.Setenv("TSDBRIDGE_DATA", data)
	output(t, binary, "check", "config", config)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, binary, "serve", "--config.file="+config, "--web.listen-address=127.0.0.1:0")
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	address := listening(t, log)
	for output := ""; !strings.Contains(output, "is ready"); time.Sleep(50 * time.Millisecond) { // polling, with a deadline
		said, _ := exec.CommandContext(ctx, binary, "health", "--adapter-url=http://"+address).CombinedOutput()
		if output = string(said); ctx.Err() != nil {
			t.Fatalf("health: %s", output)
		}
	}
	resp, err := http.Get("http://" + address + "/api/v1/label/__name__/values")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Data []string }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	_ = resp.Body.Close()
	if err != nil || !slices.Contains(answer.Data, "load") || !slices.Contains(answer.Data, "sys.cpu.user") {
		t.Errorf("metrics of the old store: %v, %v", answer.Data, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// listening reads the address from the log, and goes on reading it.
func listening(t *testing.T, log io.Reader) string {
	t.Helper()
	lines, address := bufio.NewScanner(log), regexp.MustCompile(`msg=listening protocol=http address=(\S+)`)
	var all strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&all, lines.Text())
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return m[1]
		}
	}
	t.Fatalf("it does not listen: %s", all.String())
	return ""
}

// Versions before a release sort before it.
func TestVersionOf(t *testing.T) {
	s := source{revision: "0123456789abcdef", time: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		said   string
		tagged bool
		want   string
	}{
		{"tsdbridge 0.1.0+0123456789ab", true, "0.1.0"},
		{"tsdbridge 0.1.0+0123456789ab", false, "0.1.0~20261125.0123456789ab"},
		{"bridge", true, ""},
	} {
		s.tagged = c.tagged
		if got, err := versionOf(c.said, s); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.said, got, err, c.want)
		}
	}
}

// The option that keeps the compiler from joining operations does so. It is one for debugging the compiler: a later Go may
// have another one.
func TestUnfused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.go")
	if err := os.WriteFile(name, []byte("package f\n\nfunc F(a, b, c float64) float64 { return a*b + c }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options []string
		fused   bool
	}{{nil, true}, {unfused("arm64"), false}} {
		args := append([]string{"build", "-o", os.DevNull}, c.options...)
		build := exec.CommandContext(t.Context(), "go", append(args, "-gcflags=command-line-arguments=-S "+strings.TrimPrefix(strings.Join(c.options, " "), "-gcflags=all="), name)...)
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64")
		said, err := build.CombinedOutput()
		if err != nil || strings.Contains(string(said), "FMADD") != c.fused || !strings.Contains(string(said), "F(SB)") {
			t.Errorf("%v: %v\n%s, want fused %t", c.options, err, said, c.fused)
		}
	}
}

// A binary of another system, or one that needs libraries, is not released.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ goos, goarch, as string }{{"linux", "arm64", "amd64"}, {"darwin", "amd64", "arm64"}, {"darwin", "arm64", "amd64"}} {
		name := filepath.Join(dir, c.goos+c.goarch)
		if err := os.WriteFile(name+".go", []byte("package main\n\nfunc main() { println(1) }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		build := exec.CommandContext(t.Context(), "go", "build", "-o", name, name+".go")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+c.goos, "GOARCH="+c.goarch)
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		check := map[string]func(name, goarch string) error{"linux": checkELF, "darwin": checkMachO}
		if err := check[c.goos](name, c.goarch); err != nil {
			t.Error(err)
		}
		if check[c.goos](name, c.as) == nil || checkELF(name, c.as) == nil {
			t.Errorf("%s/%s passes for another system", c.goos, c.goarch)
		}
	}
	if shell, err := exec.LookPath("sh"); err == nil && checkELF(shell, runtime.GOARCH) == nil {
		t.Error("a binary with libraries passes for a static one")
	}
}

// A module without a licence that is known stops the release.
func TestLicences(t *testing.T) {
	dir := t.TempDir()
	if _, err := readLicences(dir); err == nil {
		t.Error("a module without a licence is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("You may do nothing."), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readLicences(dir); err == nil {
		t.Error("an unknown licence is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), readFile(t, filepath.Join(checkout, "LICENSE")), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readLicences(dir)
	if err != nil || len(all) != 1 || !slices.Equal(all[0].ids, []string{"Apache-2.0"}) {
		t.Errorf("%+v, %v, want Apache-2.0", all, err)
	}
}
