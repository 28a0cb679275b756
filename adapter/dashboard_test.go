package adapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

const dashboardFolder = "../deploy/grafana/dashboards"

// dashboard is what the test reads of Grafana's JSON.
type dashboard struct {
	UID           string `json:"uid"`
	SchemaVersion int    `json:"schemaVersion"`
	Panels        []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		GridPos struct{ H, W, X, Y int }
		Targets []struct {
			Expr       string            `json:"expr"`
			Datasource map[string]string `json:"datasource"`
		} `json:"targets"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name string `json:"name"`
		} `json:"list"`
	} `json:"templating"`
}

// TestDashboards evaluates each expression of each panel over what adapters on both engines show under a mixed load.
func TestDashboards(t *testing.T) {
	s := newScraper(t)
	embedded := storeTestOptions(t, write.Buffered)
	embedded.Carbon.ListenAddress, embedded.OpenTSDB.ListenAddress = "127.0.0.1:0", "127.0.0.1:0"
	embedded.Graphite.Trees = declared(t, "- {name: servers, path: 'servers.{host}.{metric...}'}\n")
	embedded.Prometheus.Write.Dedup.ClusterLabel, embedded.Prometheus.Write.Dedup.ReplicaLabel = "cluster", "replica"
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "rules.yml"), "groups: [{name: g, rules: [{record: r, expr: load}]}]\n")
	embedded.RemoteWrite.Path = dir
	embedded.PromConfig = mustParseProm(t, dir, "rule_files: [rules.yml]\n"+
		"alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:1']}]}]}\n"+
		"remote_write: [{url: 'http://127.0.0.1:1/'}]\n")
	local, _ := runAdapter(t, embedded)
	waitMetric(t, local, `prometheus_notifications_sent_total\{.*\} 0`)
	cluster, _ := adapterOnHBase(t, write.Through)
	for range 2 {
		mixedLoad(t, local)
		mixedLoad(t, cluster)
		s.scrapeAll(map[string]*Adapter{"embedded": local, "hbase": cluster})
	}
	files, err := filepath.Glob(dashboardFolder + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		checkDashboard(t, s, file)
	}
}

func checkDashboard(t *testing.T, s *scraper, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var d dashboard
	must(t, json.Unmarshal(text, &d))
	variables := strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", "5m")
	if d.SchemaVersion < 36 || d.UID == "" || len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" {
		t.Errorf("%s: schema version %d, uid %q, variables %v", file, d.SchemaVersion, d.UID, d.Templating.List)
	}
	ids, expressions := map[int]bool{}, 0
	for _, p := range d.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: panel %q has the id of another one, or is too wide", file, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			expressions++
			if target.Datasource["uid"] != "${datasource}" {
				t.Errorf("%s: panel %q does not use the variable of the data source", file, p.Title)
			}
			if found := s.query(variables.Replace(target.Expr)); len(found) == 0 {
				t.Errorf("%s: panel %q: no series for %s", file, p.Title, target.Expr)
			}
		}
	}
	if expressions == 0 {
		t.Errorf("%s has no expressions", file)
	}
}

// mixedLoad writes by every door that an adapter has, and asks in every language.
func mixedLoad(t *testing.T, a *Adapter) {
	t.Helper()
	url, now := "http://"+a.Addr(), time.Now()
	sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="load", host="a"} 1@%d`, now.UnixMilli()), 1)
	sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="load", host="b"} 1@%d`, now.UnixMilli()), 2)
	sendRemoteWrite(t, a, `{__name__="old", host="a"} 1@1700000000000`, 1)
	if a.CarbonAddr() != "" {
		sendCarbon(t, a, fmt.Sprintf("a.b 1 %d\n", now.Unix()), `a.b [{"-_" "1"}]`, now.Unix()*1000)
	}
	for _, path := range []string{
		fmt.Sprintf("/api/v1/query_range?query=load&start=%d&end=%d&step=10", now.Unix()-60, now.Unix()),
		"/api/v1/query?query=timestamp(load+@+600+offset+1m)", "/api/v1/labels",
		"/render?target=a.*&format=json&from=-1h", "/metrics/find?query=*", "/api/query?start=1h-ago&m=sum:load",
	} {
		if status, body := promtest.Do(t, http.MethodGet, url+path, nil); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
