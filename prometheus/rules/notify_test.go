package rules_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/config"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/prometheus/query"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// A sentAlert is an alert as an Alertmanager gets it.
type sentAlert struct {
	Labels, Annotations map[string]string
	StartsAt, EndsAt    time.Time
	GeneratorURL        string
}

// alerting parses the key of a configuration.
func alerting(t *testing.T, text string) (c config.AlertingConfig) {
	t.Helper()
	read, err := config.Load("alerting:\n  "+strings.ReplaceAll(text, "\n", "\n  "), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read.AlertingConfig
}

// Alerts go to the Alertmanagers with external labels and by the rules of relabelling, and again when
// they are resolved. What waits is sent at the end.
func TestAlertmanagers(t *testing.T) {
	h := newHouse(t)
	got := make(chan sentAlert, 1000)
	am := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		var alerts []sentAlert
		if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil || r.URL.Path != "/am/api/v2/alerts" || user+password != "ab" {
			t.Errorf("%s: %v, user %s", r.URL, err, user)
		}
		for _, a := range alerts {
			got <- a
		}
	}))
	defer am.Close()
	address := strings.TrimPrefix(am.URL, "http://")
	c := rules.Config{Files: []string{filepath.Join(t.TempDir(), "rules.yml")}, Interval: 50 * time.Millisecond}
	if err := yaml.Unmarshal([]byte("{site: here}"), &c.ExternalLabels); err != nil {
		t.Fatal(err)
	}
	c.Alerting = alerting(t, `alert_relabel_configs: [{target_label: added, replacement: yes}]
alertmanagers:
- path_prefix: /am
  basic_auth: {username: a, password: b}
  static_configs: [{targets: ["`+address+`", "dropped:1"]}]
  relabel_configs: [{source_labels: [__address__], regex: dropped.*, action: drop}]`)
	if err := os.WriteFile(c.Files[0], []byte(someRules), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := rules.Load(c, query.DefaultOptions().Parser(), testChecks())
	if err != nil {
		t.Fatal(err)
	}
	h.o.Link = func(language, text string) string { return language + ":" + text }
	s := rules.New(h.o)
	s.Use(set, h.evaluators())
	h.write(`{__name__="load", host="b"}`, time.Now(), 2)
	h.run(s)
	a := <-got
	want := map[string]string{"alertname": "High", "host": "b", "severity": "page", "site": "here", "added": "yes"}
	for name, value := range want {
		if a.Labels[name] != value {
			t.Errorf("labels %v, want %v", a.Labels, want)
		}
	}
	if a.GeneratorURL != "promql:load > 1" || a.Annotations["summary"] != "b has 2" || !a.EndsAt.After(time.Now()) {
		t.Errorf("sent %+v", a)
	}
	if all := s.Alertmanagers(); len(all) != 1 || all[0].Host != address || len(s.DroppedAlertmanagers()) != 1 {
		t.Errorf("Alertmanagers %v, dropped %v", all, s.DroppedAlertmanagers())
	}
	h.write(`{__name__="load", host="b"}`, time.Now(), 0)
	for a = <-got; a.EndsAt.After(time.Now()); a = <-got {
	}
	if a.Labels["alertname"] != "High" {
		t.Errorf("resolved %v", a.Labels)
	}
	// a set without Alertmanagers ends the sending
	s.Use(h.set(someRules), h.evaluators())
	if all := s.Alertmanagers(); len(all) != 0 {
		t.Errorf("Alertmanagers %v", all)
	}
}

// Alertmanagers that cannot be reached do not keep the process from stopping.
func TestStopWithoutAlertmanager(t *testing.T) {
	h := newHouse(t)
	h.o.StopTime = 10 * time.Millisecond
	asked := make(chan struct{}, 1000)
	release := make(chan struct{})
	am := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer am.Close()
	defer close(release)
	c := rules.Config{Interval: 50 * time.Millisecond, Files: []string{filepath.Join(t.TempDir(), "rules.yml")}}
	c.Alerting = alerting(t, `alertmanagers: [{timeout: 10m, static_configs: [{targets: ["`+strings.TrimPrefix(am.URL, "http://")+`"]}]}]`)
	if err := os.WriteFile(c.Files[0], []byte(someRules), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := rules.Load(c, query.DefaultOptions().Parser(), testChecks())
	if err != nil {
		t.Fatal(err)
	}
	h.write(`{__name__="load", host="b"}`, time.Now(), 2)
	s := rules.New(h.o)
	s.Use(set, h.evaluators())
	stop := h.run(s)
	<-asked
	stop()
}

// What is wrong with Alertmanagers is found before they are used.
func TestCheckAlerting(t *testing.T) {
	for text, want := range map[string]string{
		`alertmanagers: [{static_configs: [{targets: ["a:9093"]}]}]`:                                                                   "",
		`alertmanagers: [{tls_config: {ca_file: /does/not/exist}, static_configs: [{targets: ["a:9093"]}]}]`:                           "alertmanager 1: unable to",
		`alertmanagers: [{static_configs: [{targets: ["a:9093"]}], relabel_configs: [{target_label: __address__, replacement: a/b}]}]`: "alertmanager 1: ",
	} {
		_, err := rules.Load(rules.Config{Alerting: alerting(t, text)}, query.DefaultOptions().Parser(), testChecks())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
