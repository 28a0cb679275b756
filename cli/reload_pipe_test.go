//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/cli/settings"
)

// No other file that a start or a reload reads may be a pipe, for which it would wait for ever, or a device, which has no end.
func TestReloadNotRegular(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	web := filepath.Join(dir, "web.yml")
	file := filepath.Join(dir, "c.yml")
	load := func(text, webText string) error {
		for name, text := range map[string]string{file: "storage.engine: memory\nweb.listen-address: 127.0.0.1:0\n" + text, web: webText} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := parseCommandIn(settings.Source{}, []string{"--config.file=" + file}, io.Discard, io.Discard)
		if err != nil {
			return err
		}
		return errors.Join(c.options.Validate(), c.options.CheckFiles())
	}
	if err := load("web.config.file: "+web, ""); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{pipe, "/dev/zero"} {
		for _, c := range []struct{ text, web string }{
			{text: "rule_files: [%q]"},
			{text: "query.timeout: '${file:%s}'"},
			{text: "alerting: {alertmanagers: [{static_configs: [{targets: ['a:9093']}], tls_config: {ca_file: %q}}]}"},
			{text: "alerting: {alertmanagers: [{static_configs: [{targets: ['a:9093']}], basic_auth: {username: a, password_file: %q}}]}"},
			{text: "remote_write: [{url: 'http://a', authorization: {credentials_file: %q}}]\nremote-write.path: x"},
			{text: "graphite.storage-schemas: %q"},
			{text: "graphite.storage-aggregation: %q"},
			{text: "graphite.graph-templates: %q"},
			{text: "carbon.whitelist: %q"},
			{text: "carbon.blacklist: %q"},
			{text: "carbon.rewrite-rules: %q"},
			{text: "carbon.aggregation-rules: %q"},
			{text: "opentsdb.limits: %q"},
			{text: "opentsdb.config: %q"},
			{text: "storage.rollups: %q"},
			{text: "tracing.endpoint: http://localhost:4318/\ntracing.tls-ca-file: %q"},
			{text: "web.config.file: %q"},
			{text: "web.config.file: " + web, web: "tls_server_config: {cert_file: %q, key_file: x}"},
			{text: "web.config.file: " + web, web: "tls_server_config: {cert_file: /dev/null, key_file: /dev/null, client_auth_type: RequireAndVerifyClientCert, client_ca_file: %q}"},
		} {
			filled := func(text string) string {
				if strings.Contains(text, "%") {
					return fmt.Sprintf(text, bad)
				}
				return text
			}
			done := make(chan error, 1)
			go func() { done <- load(filled(c.text), filled(c.web)) }()
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), "want a regular file") {
					t.Errorf("%s %s: %v", filled(c.text), filled(c.web), err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s %s: it waits for ever", filled(c.text), filled(c.web))
			}
		}
	}
	for _, device := range []string{"/dev/zero", "/dev/tty"} {
		if _, err := parseCommandIn(settings.Source{}, []string{"--config.file=" + device}, io.Discard, io.Discard); err == nil {
			t.Errorf("--config.file=%s is read", device)
		}
	}
}

// The configuration file may be a pipe when the process starts, as in --config.file=<(sops -d FILE). A reload refuses it, and
// does not wait for a writer.
func TestConfigFromPipe(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("rules.yml", []byte("groups: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe", "63")
	if err := errors.Join(os.Mkdir(filepath.Dir(pipe), 0o700), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	load := func(from settings.Source, text string) (commandLine, error) {
		written := make(chan error, 1)
		if text != "" {
			go func() { written <- os.WriteFile(pipe, []byte(text), 0) }()
		}
		c, err := parseCommandIn(from, []string{"--config.file=" + pipe}, io.Discard, io.Discard)
		if text != "" {
			<-written
		}
		return c, err
	}
	c, err := load(settings.Source{}, "storage.engine: memory\nquery.timeout: 7s\nrule_files: [rules.yml]\n")
	if err != nil || c.options.QueryTimeout != 7*time.Second {
		t.Errorf("from a pipe: %v, %v", c.options.QueryTimeout, err)
	}
	if files := c.options.PromConfig.RuleFiles; len(files) != 1 || filepath.IsAbs(files[0]) && filepath.Dir(files[0]) != dir || strings.Contains(files[0], "pipe") {
		t.Errorf("rule files %q, want those of the working directory", files)
	}
	if _, err := load(settings.Source{}, "#"+strings.Repeat("x", 16<<20)); err == nil || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("a longer one: %v", err)
	}
	if _, err := load(settings.Source{Reload: true}, ""); err == nil || !strings.Contains(err.Error(), "is a pipe, which was read when the process started") {
		t.Errorf("a reload: %v", err)
	}
}
