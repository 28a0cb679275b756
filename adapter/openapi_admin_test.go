package adapter

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// TestOpenAPIAdminAnswers: what the status and admin API of an embedded store answers, and what OpenTSDB's API answers
// to changes, fits the schemas of docs/openapi.yaml.
func TestOpenAPIAdminAnswers(t *testing.T) {
	ours := ourDescription(t)
	schemas := jsonschema.NewCompiler()
	ours.validate(t, schemas)
	o := storeTestOptions(t, write.Buffered)
	o.Lifecycle, o.OpenTSDB.AllowEdits, o.OpenTSDB.ListenAddress = true, true, "127.0.0.1:0"
	o.Graphite.Trees = declared(t, "- {name: servers, path: 'servers.{host}.{metric...}'}\n")
	a, _ := runAdapter(t, o)
	now := time.Now().Unix()
	part, err := (&graphitefiles.Part{Name: "a.b", Runs: []graphitefiles.Run{{Times: []int64{now - 60}, Values: []float64{1}}}}).AppendTo(nil)
	must(t, err)
	put := fmt.Sprintf(`[{"metric":"sys.cpu","timestamp":%d,"value":1.5,"tags":{"host":"a"}},{"metric":"bad metric","timestamp":1,"value":1,"tags":{"host":"a"}}]`, now-60)
	web, tsd := "http://"+a.Addr(), "http://"+a.opentsdb.Addr()
	const isJSON, isText, isBinary = "application/json", "text/plain", "application/octet-stream"
	for _, c := range []struct{ base, method, path, kind, body string }{
		{tsd, "POST", "/api/put?details", isJSON, put},
		{web, "POST", "/api/v1/admin/import/opentsdb?skip=true", isText, fmt.Sprintf("load %d 1 host=a\nnonsense\n", now-60)},
		{web, "POST", "/api/v1/admin/import/opentsdb", isText, "nonsense\n"},
		{web, "POST", "/api/v1/admin/import/graphite", isBinary, string(part)},
		{web, "POST", "/api/v1/admin/import/graphite", isBinary, "nonsense"},
		{web, "POST", "/api/v1/admin/import/prometheus", isBinary, string((&columns.Batch{}).AppendTo(nil))},
		{web, "POST", "/api/v1/admin/trees/sync", "", ""},
		{web, "POST", "/api/v1/admin/export/opentsdb/ranges", isJSON, fmt.Sprintf(`{"start":0,"end":%d}`, now*1000)},
		{web, "POST", "/api/v1/admin/export/opentsdb/behind", isJSON, fmt.Sprintf(`{"start":0,"end":%d}`, now*1000)},
		{web, "POST", "/api/v1/admin/export/opentsdb", isJSON, fmt.Sprintf(`{"start":0,"end":%d,"range":{"name":"load","from":0,"to":%d}}`, now*1000, now*1000)},
		{web, "POST", "/api/v1/admin/export/whisper", isJSON, `{"match":["a.b"]}`},
		{web, "POST", "/api/v1/admin/fsck/plan", isJSON, `{"query":{},"n":2}`},
		{web, "POST", "/api/v1/admin/fsck/check", isJSON, `{"query":{},"stretch":{"table":"tsdb-uid"}}`},
		{web, "POST", "/api/v1/admin/fsck/check", isJSON, `{"query":{},"stretch":{"table":"tsdb"}}`},
		{web, "POST", "/api/v1/admin/uid", isJSON, `{"command":"grep","names":["load"]}`},
		{web, "POST", "/api/v1/admin/uid", isJSON, `{"command":"fsck"}`},
		{web, "POST", "/api/v1/admin/tsdb/snapshot", "", ""},
		{web, "POST", "/api/v1/admin/tsdb/compact", "", ""},
		{web, "GET", "/api/v1/status/backups", "", ""},
		{web, "GET", "/api/v1/status/engine", "", ""},
		{web, "GET", "/api/v1/status/growth", "", ""},
		{web, "GET", "/api/v1/status/silent?days=1", "", ""},
		{web, "GET", "/api/v1/status/refused", "", ""},
		{web, "GET", "/api/v1/status/transfers", "", ""},
		{web, "GET", "/api/v1/status/trees/test?name=sys.cpu%7Bhost%3Da%7D", "", ""},
		{web, "POST", "/api/v1/status/trees/try", isJSON, `{"rules":[{"level":0,"order":0,"type":"METRIC"}],"series":["sys.cpu{host=\"a\"}"]}`},
		{web, "DELETE", "/api/v1/status/queries/none", "", ""},
		{web, "GET", "/api/v1/status/runtimeinfo", "", ""},
		{web, "GET", "/api/v1/status/config", "", ""},
		{web, "GET", "/api/v1/status/walreplay", "", ""},
		{web, "POST", "/-/reload", "", ""},
		{web, "GET", "/api/v1/rules", "", ""},
		{web, "GET", "/api/v1/alerts", "", ""},
		{web, "GET", "/api/v1/alertmanagers", "", ""},
		{web, "GET", "/api/v1/targets", "", ""},
		{web, "GET", "/api/v1/scrape_pools", "", ""},
		{web, "GET", "/api/v1/features", "", ""},
		{web, "GET", "/api/v1/parse_query?query=up", "", ""},
		{tsd, "POST", "/api/annotation", isJSON, `{"startTime":1356998400,"description":"deploy","custom":{"a":"b"}}`},
		{tsd, "GET", "/api/annotation?start_time=1356998400", "", ""},
		{tsd, "POST", "/api/annotation/bulk", isJSON, `[{"startTime":1356998401,"description":"deploy"}]`},
		{tsd, "DELETE", "/api/annotation/bulk", isJSON, `{"global":true,"startTime":1356998400,"endTime":1356998500}`},
		{tsd, "GET", "/api/config", "", ""},
		{tsd, "GET", "/api/config/filters", "", ""},
		{tsd, "GET", "/api/dropcaches", "", ""},
		{tsd, "GET", "/api/uid/assign?metric=new,sys.cpu", "", ""},
		{tsd, "POST", "/api/uid/rename", isJSON, `{"metric":"new","name":"newer"}`},
		{tsd, "POST", "/api/uid/rename", isJSON, `{"metric":"none","name":"other"}`},
		{tsd, "POST", "/api/search/lookup", isJSON, `{"metric":"sys.cpu"}`},
		{tsd, "GET", "/api/stats/query", "", ""},
		{tsd, "GET", "/api/stats/jvm", "", ""},
		{tsd, "POST", "/api/tree", isJSON, `{"name":"other"}`},
		{tsd, "GET", "/api/tree", "", ""},
		{tsd, "POST", "/api/tree/rule", isJSON, `{"treeId":2,"level":1,"order":1,"type":"METRIC","description":"x"}`},
		{tsd, "GET", "/api/tree/rule?treeid=2&level=1&order=1", "", ""},
		{tsd, "GET", "/api/tree/collisions?treeid=1", "", ""},
		{tsd, "GET", "/api/tree/notmatched?treeid=1", "", ""},
		{tsd, "GET", "/api/tree/test?treeid=1&tsuids=000001000001000001", "", ""},
		{tsd, "GET", "/api/tree/branch?treeid=1", "", ""},
		{web, "GET", "/dashboard/find?query=a", "", ""},
		{web, "GET", "/dashboard/find_template?query=a", "", ""},
		{web, "GET", "/dashboard/load/a", "", ""},
		{web, "GET", "/functions", "", ""},
		{web, "GET", "/functions?grouped=1", "", ""},
		{web, "DELETE", "/metrics?query=a.*", "", ""},
		{web, "POST", "/events", isJSON, `{"what":"deploy","tags":["web"]}`},
		{web, "DELETE", "/events/1", "", ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			ours.checkAnswer(t, schemas, c.method, c.base, c.path, c.kind, c.body)
		})
	}
}

// TestOpenAPIReload does so with a configuration that is loaded again.
func TestOpenAPIReload(t *testing.T) {
	ours := ourDescription(t)
	schemas := jsonschema.NewCompiler()
	ours.validate(t, schemas)
	r, o := newReloadable(t, func(*Options) {})
	o.Flags = maps.Clone(o.Flags)
	o.Flags["query.max-series"] = "5"
	o.Settings = o.Flags
	r.set(o, nil)
	ours.checkAnswer(t, schemas, http.MethodPost, "http://"+r.Addr(), ReloadPath, "", "")
	r.set(o, errors.New("line 3"))
	ours.checkAnswer(t, schemas, http.MethodPost, "http://"+r.Addr(), ReloadPath, "", "")
}
