package adapter

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// All languages have the new name as soon as a rename is answered, and the old name is that of a new
// series. So it is after a restart.
func TestRenameInAllLanguages(t *testing.T) {
	o := storeTestOptions(t, write.Buffered)
	o.Graphite.Trees = declared(t, serversTree)
	o.OpenTSDB.AllowEdits, o.OpenTSDB.ListenAddress = true, "127.0.0.1:0"
	a, stop := runAdapter(t, o)
	put := func(metric, value string) {
		t.Helper()
		var b storage.Batch
		refs, errs := a.store.Resolve(t.Context(), []storage.Series{
			{Metric: metric, Tags: []storage.Tag{{Key: "host", Value: "web"}}},
			{Metric: metric + ".plain", Tags: []storage.Tag{{Key: "-_", Value: "1"}}},
		})
		if errs != nil {
			t.Fatal(errs)
		}
		for _, ref := range refs {
			b.Add(ref, 1356998400000, float64(len(value)))
		}
		if err := a.store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	promql := func(expression string) string {
		return "/api/v1/query_range?start=1356998400&end=1356998460&step=60&query=" + url.QueryEscape(expression)
	}
	// what is asked, and what the answer has to a name that has points
	questions := func(name string) map[string]string {
		return map[string]string{
			promql(`{__name__="` + name + `"}`):                                               `"values":[[1356998400`,
			promql(`count({__name__="` + name + `"})`):                                        `"values":[[1356998400`,
			promql(`count by (__name__) ({__name__=~"` + name + `"})`):                        `"values":[[1356998400`,
			"/metrics/find?query=servers.web." + name:                                         `"leaf": 1`,
			"/metrics/find?query=" + name + ".plain":                                          `"leaf": 1`,
			"/render?format=json&from=1356998340&until=1356998460&target=servers.web." + name: `"datapoints": [[`,
			"/api/query?start=1356998400&end=1356998401&m=sum:" + name + "{host=*}":           `"dps":{"1356998400"`,
			"/api/search/lookup?m=" + name:                                                    `"totalResults":1`,
			"/api/suggest?type=metrics&q=" + name:                                             `"` + name + `"`,
			"/tags/findSeries?expr=name=" + name:                                              name + ";host=web",
		}
	}
	check := func(what, name string, has bool) {
		t.Helper()
		for path, want := range questions(name) {
			response, err := http.Get("http://" + a.Addr() + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			text := string(body)
			if strings.Contains(text, want) != has {
				t.Errorf("%s: %s: %d %s, want %q: %v", what, path, response.StatusCode, text, want, has)
			}
		}
	}
	rename := func(body string, want int, answer string) {
		t.Helper()
		if status, _, text := a.post(t, "/api/uid/rename", []byte(body)); status != want || text != answer {
			t.Errorf("rename %s: %d %s, want %d %s", body, status, text, want, answer)
		}
	}
	put("old", "1")
	for range 2 { // answers are kept
		check("before", "old", true)
		check("before", "new", false)
	}
	rename(`{"metric":"old","name":"new"}`, 200, `{"result":"true"}`)
	rename(`{"metric":"old.plain","name":"new.plain"}`, 200, `{"result":"true"}`)
	for range 2 {
		check("renamed", "new", true)
		check("renamed", "old", false)
	}
	put("old", "22")
	check("written again", "old", true)
	check("written again", "new", true)
	rename(`{"metric":"old","name":"new"}`, 400, `{"result":"false","error":"When trying rename(\"old\", \"new\") on UniqueId(tsdb-uid, metrics, 3): new name already assigned ID=[0, 0, 1]"}`)
	rename(`{"tagv":"web","name":"other"}`, 200, `{"result":"true"}`)
	if text := servertest.Text(t, a, "/metrics/find?query=servers.*"); strings.Contains(text, "web") || !strings.Contains(text, "other") {
		t.Errorf("the tag value was renamed: %s", text)
	}
	rename(`{"tagv":"other","name":"web"}`, 200, `{"result":"true"}`)
	stop()
	a, _ = runAdapter(t, o)
	waitSynced(t, a)
	check("after a restart", "new", true)
	check("after a restart", "old", true)
}
