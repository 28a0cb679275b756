package adapter

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
)

// Trees that are made over OpenTSDB's API have the series that there were, are found by Graphite's
// clients, and stay after a restart. Those of the configuration are not changed: the answer names the
// place of the declaration.
func TestTreesOverOpenTSDBsAPI(t *testing.T) {
	o := laterOptions(t, serversTree)
	o.OpenTSDB.ListenAddress, o.OpenTSDB.AllowEdits, o.Graphite.Templates = "127.0.0.1:0", true, []string{"racks.{rack}.{metric}"}
	o.IndexRefresh = 50 * time.Millisecond // a new tree waits for two looks
	ask := func(a *Adapter, path, body string, want int) string {
		t.Helper()
		status, _, text := a.post(t, path, []byte(body))
		if status != want {
			t.Fatalf("%s %s = %d %s, want %d", path, body, status, text, want)
		}
		return text
	}
	a, stop := runAdapter(t, o)
	for _, err := range resolveAll(t, a, 10) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for place, tree := range map[string]string{
		"--config.file, trees, line 1": `"treeId":1`, "--graphite.template=racks.{rack}.{metric}": `"treeId":2`, "--graphite.default-tree=graphite": `"name":"graphite"`,
	} {
		if text := ask(a, "/api/tree", `{`+tree+`,"description":"x"}`, http.StatusForbidden); !strings.Contains(text, place) {
			t.Errorf("an edit of %s is answered by %s", tree, text)
		}
	}
	made := ask(a, "/api/tree", `{"name":"made","enabled":true}`, http.StatusOK)
	if !strings.Contains(made, `"treeId":3`) {
		t.Fatal(made)
	}
	ask(a, "/api/tree/rules", `[{"treeId":3,"type":"TAGK","field":"host","displayFormat":"made-{value}"},{"treeId":3,"level":1,"type":"METRIC"}]`, http.StatusNoContent)
	waitSynced(t, a)
	before := servertest.Text(t, a, "/metrics/find?query=made-*")
	if !strings.Contains(before, "made-") {
		t.Errorf("found %s", before)
	}
	stop()
	a, stop = runAdapter(t, o)
	defer stop()
	waitSynced(t, a)
	if after := servertest.Text(t, a, "/metrics/find?query=made-*"); after != before {
		t.Errorf("after a restart %s is found, was %s", after, before)
	}
	if text := servertest.Text(t, a, "/api/tree?treeid=3"); !strings.Contains(text, `"displayFormat":"made-{value}"`) {
		t.Errorf("after a restart the tree is %s", text)
	}
}
