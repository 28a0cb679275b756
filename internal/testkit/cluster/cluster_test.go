package cluster

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
)

// TestCluster starts everything once: HBase, tables, a TSD that writes and reads a point, a tool, a
// crash and a restart.
func TestCluster(t *testing.T) {
	c := HBase(t, Options{})
	createTables(t, c.ZooKeeper())
	tsd, err := c.TSD(t.Context(), TSDOptions{})
	if err != nil {
		t.Fatal(err)
	}
	post(t, tsd.URL()+"/api/put?sync&details", `{"metric":"m","timestamp":1356998400,"value":42,"tags":{"host":"a"}}`)

	out, err := tsd.Tool(t.Context(), "UidManager", "--verbose", "fsck")
	if err != nil || !strings.Contains(out, "No errors found") {
		t.Errorf("uid fsck = %v\n%s", err, out)
	}
	if _, err := tsd.Tool(t.Context(), "NoSuchTool"); err == nil || !strings.Contains(err.Error(), "NoSuchTool") {
		t.Errorf("an unknown tool gave %v", err)
	}
	if err := tsd.Stop(); err != nil {
		t.Error(err)
	}

	c.Kill()
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tsd, err = c.TSD(t.Context(), TSDOptions{}); err != nil {
		t.Fatal(err)
	}
	got := get(t, tsd.URL()+"/api/query?start=1356998300&end=1356998500&m=sum:m")
	if !strings.Contains(got, `"1356998400":42`) {
		t.Errorf("after kill and restart the query answers %s", got)
	}
}

func createTables(t *testing.T, zk string) {
	t.Helper()
	admin := gohbase.NewAdminClient(zk, gohbase.Logger(silent()))
	for table, families := range map[string][]string{
		"tsdb": {"t"}, "tsdb-uid": {"id", "name"}, "tsdb-meta": {"name"}, "tsdb-tree": {"t"},
	} {
		spec := map[string]map[string]string{}
		for _, f := range families {
			spec[f] = map[string]string{"VERSIONS": "1"}
		}
		if err := admin.CreateTable(hrpc.NewCreateTable(t.Context(), []byte(table), spec)); err != nil {
			t.Fatalf("create %s: %v", table, err)
		}
	}
}

func post(t *testing.T, url, body string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("POST %s: %s: %s", url, resp.Status, text)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEarlyEndPrintsTheLog(t *testing.T) {
	p, err := spawn("shell", filepath.Join(t.TempDir(), "log"), exec.Command("sh", "-c", "echo the reason; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	err = waitUntil(t.Context(), p, func(context.Context) error { return io.EOF })
	if err == nil || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("err = %v, want the log and the status", err)
	}
	p.kill() // of a process that has ended: nothing happens
	if p.running() {
		t.Error("an ended process is said to run")
	}
}

func TestMissingJavaNamesThePackages(t *testing.T) {
	t.Setenv("PATH", "")
	_, err := classpath(t.Context(), hbasePOM)
	if err == nil || !strings.Contains(err.Error(), "openjdk-17-jre-headless maven") {
		t.Errorf("err = %v, want the names of the packages", err)
	}
}

func TestConf(t *testing.T) {
	dir := t.TempDir()
	if err := writeConf(dir, site("/d", 1, 2, 3, map[string]string{"a": "<&>", "hbase.master.port": "9"})); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hbase-site.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range doc.Property {
		got[p.Name] = p.Value
	}
	for name, want := range map[string]string{
		"a": "<&>", "hbase.master.port": "9", "hbase.rootdir": "file:///d/data", "hbase.zookeeper.property.clientPort": "1",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
}

func TestWithoutReload4j(t *testing.T) {
	got := withoutReload4j("/m/a.jar:/m/slf4j-reload4j-1.7.36.jar:/m/reload4j-1.2.22.jar:/m/reload4j/b.jar")
	if want := "/m/a.jar:/m/reload4j/b.jar"; got != want {
		t.Errorf("withoutReload4j = %q, want %q", got, want)
	}
}
