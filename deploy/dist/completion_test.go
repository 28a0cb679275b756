package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// checkCompletion types command lines into zsh and fish, which find the scripts where the package has put them.
func checkCompletion(t *testing.T, root string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil { //nolint:gosec // of the test
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(root, "usr/bin")+":"+os.Getenv("PATH"))
	t.Setenv("HOME", dir)
	zsh := filepath.Dir(one(t, filepath.Join(root, "usr/share/zsh/*/_tsdbridge")))
	fish := filepath.Join(root, "usr/share/fish/vendor_completions.d/tsdbridge.fish")
	lines := []struct{ typed, zsh, fish string }{
		{"tsdbridge hea", "tsdbridge health ", "health"},
		{"tsdbridge --hbase.z", "tsdbridge --hbase.zookeeper ", "--hbase.zookeeper"},
		{"tsdbridge --storage.engine=h", "tsdbridge --storage.engine=hbase ", "--storage.engine=hbase"},
		{"tsdbridge --storage.engine mem", "tsdbridge --storage.engine memory ", "memory"},
		{"tsdbridge import w", "tsdbridge import whisper ", "whisper"},
		{"tsdbridge --config.file fi", "tsdbridge --config.file files/", "files/"},
		{"tsdbridge --config.file=fi", "tsdbridge --config.file=files/", "--config.file=files/"},
	}
	var typed, ofZsh, ofFish []string
	for _, l := range lines {
		typed, ofZsh, ofFish = append(typed, l.typed), append(ofZsh, l.zsh), append(ofFish, l.fish)
	}
	if got := shell(t, dir, "zsh", append([]string{"-f", script(t, "complete.zsh"), zsh}, typed...)); !slices.Equal(got, ofZsh) {
		t.Errorf("zsh completes\n%q, want\n%q", got, ofZsh)
	}
	if got := shell(t, dir, "fish", append([]string{"--no-config", script(t, "complete.fish"), fish}, typed...)); !slices.Equal(got, ofFish) {
		t.Errorf("fish completes\n%q, want\n%q", got, ofFish)
	}
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shell runs a shell in a directory and returns the lines that it prints.
func shell(t *testing.T, dir, name string, args []string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.Split(strings.TrimRight(strings.ReplaceAll(string(out), "\r", ""), "\n"), "\n")
}
