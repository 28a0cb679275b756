package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
)

// killedConfig has an alert for each broken host, and a rule that records their number.
func killedConfig(t *testing.T, alertmanager string) (file string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tsdbridge.yml": fmt.Sprintf("global: {evaluation_interval: 250ms}\nrule_files: [rules.yml]\nrules.alert.resend-delay: 5s\nalerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n", alertmanager),
		"rules.yml":     "groups: [{name: killed, rules: [{record: 'broken:count', expr: count(broken)}, {alert: Broken, expr: broken > 0}]}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "tsdbridge.yml")
}

// notified waits until Alertmanager has told of a status of each host.
func (s *alertmanagerServer) notified(t testing.TB, status string, hosts ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, host := range hosts {
		missing[host] = true
	}
	for len(missing) > 0 {
		if n := s.next(t); n.Status == status {
			delete(missing, n.Labels["host"])
		}
	}
}

// TestAlertsKilled: kills of the adapter while alerts are sent, and while Alertmanager cannot be reached, lose no alert, no
// end of an alert, and nothing that a rule has recorded.
func TestAlertsKilled(t *testing.T) {
	needE2E(t)
	t.Parallel()
	am := startAlertmanager(t)
	var away atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: am.addr})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler) // the connection ends
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	a := startAdapter(t, "--config.file="+killedConfig(t, proxy.Listener.Addr().String()))
	broken := func(v float64, hosts ...string) {
		var all []prompb.TimeSeries
		for _, host := range hosts {
			all = append(all, series([]prompb.Sample{sampleAt(time.Now(), v)}, "__name__", "broken", "host", host))
		}
		a.Write(t, all...).ok(t)
	}
	firing := func(want int) {
		eventually(t, waitTimeout, fmt.Sprintf("%d alerts fire", want), func() error {
			if got := len(a.alertList(t)); got != want {
				return fmt.Errorf("%d fire", got)
			}
			return nil
		})
	}
	kill := func() {
		recorded := a.Query(t, "timestamp(broken:count)", time.Now())
		a.Kill()
		a.Restart(t)
		for _, r := range recorded {
			seconds, err := strconv.ParseFloat(r.points[0].value, 64)
			if err != nil {
				t.Fatal(err)
			}
			at := time.UnixMilli(int64(seconds * 1000))
			if again := a.Query(t, "timestamp(broken:count)", at); len(again) != 1 || again[0].points[0].value != r.points[0].value {
				t.Errorf("recorded at %s before the kill, now %v", r.points[0].value, again)
			}
		}
	}
	hosts := make([]string, 20)
	for i := range hosts {
		hosts[i] = "host" + strconv.Itoa(i)
	}
	// Alertmanager cannot be reached while they begin
	away.Store(true)
	broken(1, hosts...)
	firing(len(hosts))
	kill()
	away.Store(false)
	am.notified(t, "firing", hosts...)
	// the adapter is killed about when they are sent
	for i := range 5 {
		host := "more" + strconv.Itoa(i)
		hosts = append(hosts, host)
		broken(1, host)
		if i%2 == 1 {
			firing(len(hosts))
		}
		kill()
		am.notified(t, "firing", host)
	}
	// Alertmanager cannot be reached while some end
	away.Store(true)
	broken(0, hosts[:10]...)
	firing(len(hosts) - 10)
	kill()
	away.Store(false)
	am.notified(t, "resolved", hosts[:10]...)
	// the adapter is killed about when the others end
	broken(0, hosts[10:]...)
	kill()
	am.notified(t, "resolved", hosts[10:]...)
}
