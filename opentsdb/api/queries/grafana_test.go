package queries_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// grafana asks as Grafana's OpenTSDB data source does, from the browser (versions 2.1 to 2.3 of the setting) and
// from its backend (alerts, and everything since Grafana 12).
type grafana struct {
	t       *testing.T
	address string
}

// get decodes the answer to a GET.
func (g grafana) get(path string, into any) {
	g.t.Helper()
	status, text := tsdtest.Ask(g.t, "GET", "http://"+g.address+path, "")
	if status != http.StatusOK {
		g.t.Fatalf("%s: %d %s", path, status, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		g.t.Fatalf("%s: %v in %s", path, err, text)
	}
}

// query decodes the answer to a query. Unknown fields are ignored, as Grafana ignores them.
func (g grafana) query(path, body string, into any) {
	g.t.Helper()
	status, text := tsdtest.Ask(g.t, "POST", "http://"+g.address+path, body)
	if status != http.StatusOK {
		g.t.Fatalf("%s: %d %s", body, status, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		g.t.Fatalf("%s: %v in %s", body, err, text)
	}
}

// panel is what the data source reads of a series.
type panel struct {
	Metric            string
	Tags              map[string]string
	AggregateTags     []string
	DPs               map[string]float64
	Query             struct{ Index int }
	Annotations       []struct{ Description string }
	GlobalAnnotations []struct {
		Description string
		StartTime   float64
	}
}

func startGrafana(t *testing.T) grafana {
	address := tsdtest.Start(t)
	for _, one := range []struct{ path, body string }{
		{"/api/put", `[{"metric":"cpu.user","timestamp":1356998400,"value":1,"tags":{"host":"web01","dc":"lga"}},
			{"metric":"cpu.user","timestamp":1356998430,"value":2.5,"tags":{"host":"web01","dc":"lga"}},
			{"metric":"cpu.user","timestamp":1356998520,"value":4,"tags":{"host":"web01","dc":"lga"}},
			{"metric":"cpu.user","timestamp":1356998400,"value":10,"tags":{"host":"web02","dc":"lga"}},
			{"metric":"cpu.idle","timestamp":1356998400,"value":99,"tags":{"host":"web01"}}]`},
		{"/api/annotation", `{"startTime":1356998450,"description":"deployed","notes":"v2"}`},
	} {
		if status, text := tsdtest.Ask(t, "POST", "http://"+address+one.path, one.body); status/100 != 2 {
			t.Fatal(one.path, status, text)
		}
	}
	return grafana{t, address}
}

// TestGrafanaCompletion: saving the data source, completion, and variables of dashboards.
func TestGrafanaCompletion(t *testing.T) {
	g := startGrafana(t)
	for path, want := range map[string][]string{
		"/api/suggest?type=metrics&q=cpu&max=1000":   {"cpu.idle", "cpu.user"}, // the test of the data source, too
		"/api/suggest?type=metrics&q=&max=1000":      {"cpu.idle", "cpu.user"},
		"/api/suggest?type=tagk&q=&max=1000":         {"dc", "host"},
		"/api/suggest?type=tagv&q=web&max=1000":      {"web01", "web02"},
		"/api/suggest?type=metrics&q=nothing&max=10": {},
	} {
		var got []string
		if g.get(path, &got); got == nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	var aggregators []string
	if g.get("/api/aggregators", &aggregators); !slices.Contains(aggregators, "zimsum") || !slices.Contains(aggregators, "none") {
		t.Errorf("aggregators: %q", aggregators)
	}
	var filters map[string]any
	if g.get("/api/config/filters", &filters); filters["wildcard"] == nil || filters["not_literal_or"] == nil {
		t.Errorf("filters: %v", filters)
	}
	for lookup, want := range map[string][]string{ // tag_names(cpu.user), tag_values(cpu.user, host), tag_values(cpu.user, host, dc=lga)
		"cpu.user": {"dc", "host"}, "cpu.user{host=*}": {"web01", "web02"}, "cpu.user{dc=lga,host=*}": {"web01", "web02"}, "cpu.user{dc=lga}": {"dc", "host"},
	} {
		var answer struct {
			Results []struct{ Tags map[string]string }
		}
		g.get("/api/search/lookup?"+url.Values{"m": {lookup}, "limit": {"3000"}}.Encode(), &answer)
		var names []string
		for _, r := range answer.Results {
			for key, value := range r.Tags {
				if key == "host" && want[0] != "dc" {
					names = append(names, value)
				} else if want[0] == "dc" {
					names = append(names, key)
				}
			}
		}
		slices.Sort(names)
		if names = slices.Compact(names); !slices.Equal(names, want) {
			t.Errorf("lookup %s: %q, want %q", lookup, names, want)
		}
	}
}

// TestGrafanaPanels: graphs of every version of the setting, annotations, and alerts.
func TestGrafanaPanels(t *testing.T) {
	g := startGrafana(t)
	const millis = `"start":1356998340000,"end":1356998700000,`
	var panels []panel
	g.query("/api/query", `{`+millis+`"queries":[{"metric":"cpu.user","aggregator":"sum","downsample":"1m-avg","tags":{"host":"*"}}],"msResolution":false,"globalAnnotations":true}`, &panels) // ≤ 2.1
	if len(panels) != 2 || panels[0].Tags["host"] != "web01" || panels[0].DPs["1356998400"] != 1.75 || panels[0].DPs["1356998520"] != 4 || panels[1].DPs["1356998400"] != 10 {
		t.Errorf("%+v", panels)
	}
	if a := panels[0].GlobalAnnotations; len(a) != 1 || a[0].Description != "deployed" || a[0].StartTime != 1356998450 {
		t.Errorf("annotations %+v", a)
	}
	panels = nil
	g.query("/api/query", `{`+millis+`"queries":[{"metric":"cpu.user","aggregator":"none","filters":[{"tagk":"host","type":"literal_or","filter":"web01|web02","groupBy":true}],"explicitTags":false,"downsample":"1m-max-nan"},
		{"metric":"cpu.idle","aggregator":"avg","rate":true,"rateOptions":{"counter":true,"counterMax":1000,"resetValue":10,"dropResets":false}}],"msResolution":true,"globalAnnotations":true,"showQuery":true}`, new([]json.RawMessage)) // NaN is a string: 2.3's browser reads it
	g.query("/api/query", `{`+millis+`"queries":[{"metric":"cpu.user","aggregator":"none"},{"metric":"cpu.idle","aggregator":"sum"}],"msResolution":true,"showQuery":true}`, &panels)
	if len(panels) != 3 || panels[2].Metric != "cpu.idle" || panels[2].Query.Index != 1 || panels[2].DPs["1356998400000"] != 99 {
		t.Errorf("%+v", panels)
	}
	for _, arrays := range []bool{false, true} { // the backend: one query in a request, times in seconds; 2.4 wants arrays
		var of []struct {
			Metric string
			DPs    json.RawMessage
		}
		path, want := "/api/query", `{"1356998400":5.875,"1356998520":4.0}`
		if arrays {
			path, want = "/api/query?arrays=true", `[[1356998400,5.875],[1356998520,4.0]]`
		}
		g.query(path, `{"start":1356998340,"end":1356998700,"queries":[{"aggregator":"avg","downsample":"1m-avg","metric":"cpu.user","tags":{}}]}`, &of)
		if len(of) != 1 || string(of[0].DPs) != want {
			t.Errorf("%s: %d series, %s, want %s", path, len(of), of[0].DPs, want)
		}
	}
	// An unknown metric and a bad aggregator are shown to whoever edits the panel.
	for _, bad := range []string{`"metric":"no.such","aggregator":"sum"`, `"metric":"cpu.user","aggregator":"summ"`} {
		status, text := tsdtest.Ask(t, "POST", "http://"+g.address+"/api/query", `{`+millis+`"queries":[{`+bad+`}]}`)
		var failure struct {
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(text), &failure); err != nil || status != http.StatusBadRequest || failure.Error.Code != status || failure.Error.Message == "" {
			t.Errorf("%s: %d %s", bad, status, text)
		}
	}
}
