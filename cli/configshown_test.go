package cli

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShownConfig: the configuration that is shown is one that gives the same settings, with its secrets hidden.
func TestShownConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "geheim")
	path := write("tsdbridge.yml", `
storage: {engine: memory}
query: {max-series: 1001, timeout: 90s}
carbon: {listen-address: "127.0.0.1:0", forward: ["a:1", "b:2"]}
tracing: {header: [Authorization=geheim], sampling-fraction: 0.5}
log.format: ${file:`+write("format", "json")+`}
retention: [{matcher: 'up', age: 30d}]
trees: [{name: a, path: '{host}.{metric}'}]
global: {external_labels: {zone: a}}
remote_write:
- {url: "http://user:geheim@localhost/x", basic_auth: {username: user, password: geheim}}
- {url: "http://localhost/y", basic_auth: {username: user, password: "${file:`+secret+`}"}}
`)
	c, err := parseCommand([]string{"--config.file=" + path, "--web.max-connections=77"}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.options.ShownConfig()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"query.max-series: 1001\n", "web.max-connections: 77\n", "  - b:2\n", "retention: [{matcher: 'up', age: 30d}]", "log.format: <secret>", "zone: a", "password: <secret>"} {
		if !strings.Contains(shown, want) {
			t.Errorf("it has no %q", want)
		}
	}
	if strings.Contains(shown, "geheim") {
		t.Error("it has a secret")
	}
	again, err := parseCommand([]string{"--config.file=" + write("again.yml", strings.Replace(shown, "log.format: <secret>", "log.format: json", 1))}, io.Discard, io.Discard)
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	differs := []string{"config.file", "log.format", "tracing.header"}
	of := func(flags map[string]string) map[string]string {
		flags = maps.Clone(flags)
		maps.DeleteFunc(flags, func(name, _ string) bool { return name == differs[0] || name == differs[1] || name == differs[2] })
		return flags
	}
	if diff := cmp.Diff(of(c.options.Flags), of(again.options.Flags)); diff != "" {
		t.Error(diff)
	}
	if twice, err := again.options.ShownConfig(); err != nil || !strings.Contains(twice, "trees: [{name: a, path: '{host}.{metric}'}]") {
		t.Error(twice, err)
	}
}
