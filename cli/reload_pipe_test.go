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
)

// No file that a start or a reload reads may be a pipe, for which it would wait for ever, or a device, which has no end.
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
		c, err := parseCommandIn(nil, []string{"--config.file=" + file}, io.Discard, io.Discard)
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
	if _, err := parseCommandIn(nil, []string{"--config.file=" + pipe}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Errorf("--config.file: %v", err)
	}
}
