package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const alertmanagerModule = "github.com/prometheus/alertmanager"

// alertmanagerBuild is where Alertmanager is.
var alertmanagerBuild keptProgram

// alertmanagerBinary returns the path of the Alertmanager of the version that go.mod names.
func alertmanagerBinary(t testing.TB) string {
	t.Helper()
	return alertmanagerBuild.path(t, "alertmanager", func() (string, func(work string) error) {
		source := strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Dir}}", alertmanagerModule))
		version := strings.TrimSpace(goTool(t, "list", "-m", "-f", "{{.Version}}", alertmanagerModule))
		return version, func(work string) error { return buildAlertmanager(source, work) }
	})
}

// buildAlertmanager builds a copy of the module with its own go.sum. The module lacks the files of its page, which must
// exist to be built.
func buildAlertmanager(source, work string) error {
	copied := filepath.Join(work, "source")
	if err := os.CopyFS(copied, os.DirFS(source)); err != nil {
		return err
	}
	page := filepath.Join(copied, "ui", "app", "dist")
	if err := os.MkdirAll(page, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(page, "index.html"), nil, 0o600); err != nil {
		return err
	}
	if err := goBuild(copied, filepath.Join(work, "alertmanager"), "./cmd/alertmanager"); err != nil {
		return err
	}
	return os.RemoveAll(copied)
}

// A notification is what Alertmanager tells about an alert.
type notification struct {
	Status       string            `json:"status"` // firing or resolved
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	GeneratorURL string            `json:"generatorURL"`
}

// An alertmanagerServer is a running Alertmanager, whose notifications come to the test.
type alertmanagerServer struct {
	addr          string
	notifications chan notification
}

func startAlertmanager(t testing.TB) *alertmanagerServer {
	t.Helper()
	s := &alertmanagerServer{addr: freeAddr(t), notifications: make(chan notification, 1000)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Alerts []notification }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		for _, n := range message.Alerts {
			s.notifications <- n
		}
	}))
	t.Cleanup(hook.Close)
	dir := t.TempDir()
	config := fmt.Sprintf(`route: {receiver: test, group_by: [alertname], group_wait: 100ms, group_interval: 500ms, repeat_interval: 1h}
receivers: [{name: test, webhook_configs: [{url: %q, send_resolved: true}]}]
`, hook.URL)
	if err := os.WriteFile(filepath.Join(dir, "alertmanager.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, dir, alertmanagerBinary(t),
		"--config.file=alertmanager.yml", "--storage.path=data", "--web.listen-address="+s.addr, "--cluster.listen-address=")
	c := newClient(s.addr)
	eventually(t, waitTimeout, "alertmanager ready", func() error {
		if r, err := c.do(t.Context(), http.MethodGet, "/-/ready", nil, nil); err != nil || r.status != http.StatusOK {
			return fmt.Errorf("%v %w\n%s", r, err, p.out.tail())
		}
		return nil
	})
	return s
}

// next returns the next notification.
func (s *alertmanagerServer) next(t testing.TB) notification {
	t.Helper()
	select {
	case n := <-s.notifications:
		return n
	case <-time.After(2 * waitTimeout):
		t.Fatal("Alertmanager notified nobody")
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	return notification{}
}
