package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gogo/protobuf/proto"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// pathStore runs an adapter with series of carbon and of a tree. Their points are a minute old.
func pathStore(t *testing.T, change func(*Options)) (a *Adapter, ask func(path string, form url.Values) (int, string)) {
	t.Helper()
	o := storeTestOptions(t, write.Through)
	o.Graphite.Templates = []string{"racks.{rack}.{metric}"}
	if change != nil {
		change(&o)
	}
	a, stop := runAdapter(t, o)
	t.Cleanup(stop)
	list := []storage.Series{a.names.FromLabels(labels.FromStrings("__name__", "hits", "host", "web01"))}
	for _, path := range []string{"servers.web01.load", "servers.web02.load", "servers.db01.load", "servers.web01.disk.sda"} {
		list = append(list, a.names.FromLabels(labels.FromStrings("__name__", path)))
	}
	for _, tags := range []string{"r1 x1", "r1 x2", "r2 x1"} {
		rack, host, _ := strings.Cut(tags, " ")
		list = append(list, a.names.FromLabels(labels.FromStrings("__name__", "temp", "rack", rack, "host", host)))
	}
	refs, errs := a.store.Resolve(t.Context(), list)
	if errs != nil {
		t.Fatal(errs)
	}
	var batch storage.Batch
	at := time.Now().Add(-time.Minute).UnixMilli()
	for i, ref := range refs {
		batch.Add(ref, at, float64(i))
	}
	if err := a.store.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	return a, func(path string, form url.Values) (int, string) {
		return promtest.Do(t, http.MethodGet, "http://"+a.Addr()+path+"?"+form.Encode(), nil)
	}
}

// shownSeries returns the series of an answer, without their values.
func shownSeries(t *testing.T, body string) []string {
	t.Helper()
	var x struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(body), &x); err != nil {
		t.Fatal(err, body)
	}
	var all []string
	for _, r := range x.Data.Result {
		all = append(all, labels.FromMap(r.Metric).String())
	}
	slices.Sort(all)
	return all
}

func named(paths ...string) (all []string) {
	for _, p := range paths {
		all = append(all, labels.FromStrings("__name__", p).String())
	}
	return all
}

const (
	tempR1X1 = `{__name__="temp", host="x1", rack="r1"}`
	tempR1X2 = `{__name__="temp", host="x2", rack="r1"}`
	tempR2X1 = `{__name__="temp", host="x1", rack="r2"}`
)

// Selectors of paths find what /render finds, by both evaluators, and the label is in no answer.
func TestPathSelectors(t *testing.T) {
	for _, engine := range []string{query.EngineColumns, query.EnginePrometheus} {
		_, ask := pathStore(t, func(o *Options) { o.Prometheus.Query.Engine = engine })
		now := time.Now().Unix()
		for _, c := range []struct {
			query string
			want  []string
		}{
			{`{__graphite__="servers.*.load"}`, named("servers.db01.load", "servers.web01.load", "servers.web02.load")},
			{`{__graphite__="servers.web0?.load"}`, named("servers.web01.load", "servers.web02.load")},
			{`{__graphite__="servers.{db,web}0[1-9].load", __name__!~".*02.*"}`, named("servers.db01.load", "servers.web01.load")},
			{`{__graphite__="servers.(db01|web02).load"}`, named("servers.db01.load", "servers.web02.load")},
			{`{__graphite__="servers.**"} unless on(__name__) {__graphite__="*.*.load"}`, named("servers.web01.disk.sda")},
			{`{__graphite__="servers.web01.*", __graphite__="servers.*.load"}`, named("servers.web01.load")},
			{`{__graphite__="servers.*"}`, nil},
			{`{__graphite__="racks.r1.temp"}`, []string{tempR1X1, tempR1X2}},
			{`{__graphite__="racks.*.temp", host="x1"}`, []string{tempR1X1, tempR2X1}},
			{`{__graphite__="racks.*.temp", host=~"x.*", rack!="r2"}`, []string{tempR1X1, tempR1X2}},
			{`temp{__graphite__="racks.r2.*"}`, []string{tempR2X1}},
			{`{__graphite__="hits;host=web01"}`, []string{`{__name__="hits", host="web01"}`}},
			{`last_over_time({__graphite__="racks.r2.temp"}[5m])`, []string{tempR2X1}},
			{`sum by (__graphite__, rack) ({__graphite__="racks.*.temp"})`, []string{`{rack="r1"}`, `{rack="r2"}`}},
			{`absent({__graphite__="no.*", host="a"})`, []string{`{host="a"}`}},
			{`absent_over_time({__graphite__="no.*"}[5m]) or absent({__graphite__="none"})`, []string{`{}`}},
			{`absent({__graphite__="servers.*.load"})`, nil},
		} {
			status, body := ask("/api/v1/query", url.Values{"query": {c.query}})
			if got := shownSeries(t, body); status != http.StatusOK || !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: %d %v, want %v", engine, c.query, status, got, c.want)
			}
			form := url.Values{"query": {c.query}, "start": {fmt.Sprint(now - 10)}, "end": {fmt.Sprint(now)}, "step": {"5"}}
			for range 3 { // answers may be kept
				status, body := ask("/api/v1/query_range", form)
				if got := shownSeries(t, body); status != http.StatusOK || !slices.Equal(got, c.want) {
					t.Errorf("range, %s, %s: %d %v, want %v", engine, c.query, status, got, c.want)
				}
			}
		}
	}
}

// A matcher that cannot be is named.
func TestPathSelectorErrors(t *testing.T) {
	_, ask := pathStore(t, nil)
	for _, c := range []struct{ matcher, want string }{
		{`__graphite__=~"servers.*"`, `matcher __graphite__=~\"servers.*\": __graphite__ is a pattern of Graphite`},
		{`__graphite__!="servers.*"`, `matcher __graphite__!=\"servers.*\"`},
		{`__graphite__!~"servers.*"`, `matcher __graphite__!~\"servers.*\"`},
		{`__graphite__=""`, `matcher __graphite__=\"\": the pattern is empty`},
	} {
		selector := `{host!="nobody",job="",x=~".+",` + c.matcher + `}`
		for path, form := range map[string]url.Values{
			"/api/v1/query":              {"query": {"1 + " + selector}},
			"/api/v1/query_range":        {"query": {selector}, "start": {"1"}, "end": {"2"}, "step": {"1"}},
			"/api/v1/series":             {"match[]": {selector}},
			"/api/v1/labels":             {"match[]": {selector}},
			"/api/v1/label/host/values":  {"match[]": {selector}},
			"/api/v1/status/plan":        {"match[]": {selector}},
			"/api/v1/status/explain":     {"query": {selector}},
			"/api/v1/query_exemplars":    {"query": {selector}, "start": {"1"}, "end": {"2"}},
			"/federate":                  {"match[]": {selector}},
			"/api/v1/search/label_names": {"match[]": {selector}},
		} {
			status, body := ask(path, form)
			want := c.want
			if path == "/federate" {
				want = strings.ReplaceAll(want, `\"`, `"`)
			}
			if status != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s, %s: %d %s, want %s", path, c.matcher, status, body, want)
			}
		}
	}
}

// The limits of /render and of queries hold.
func TestPathSelectorLimits(t *testing.T) {
	_, ask := pathStore(t, func(o *Options) { o.QuerySeries = 2 })
	for query, want := range map[string]string{
		`{__graphite__="servers.*.load"}`:              "more than 2 paths match (--query.max-series)",
		`{__graphite__="racks.*.temp"}`:                "more than 2 paths match (--query.max-series)",
		`{__graphite__="` + long("{a,b}", 20) + `.c"}`: "make more than",
	} {
		status, body := ask("/api/v1/query", url.Values{"query": {query}})
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%.100s: %d %s, want %s", query, status, body, want)
		}
	}
}

func long(text string, times int) string { return strings.Repeat(text, times) }

// Lists, federation, remote read and rules take the label, too; answers lack it.
func TestPathSelectorDoors(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "r.yml"), `groups: [{name: g, rules: [{record: loads, expr: 'count({__graphite__="servers.*.load"})'}]}]`)
	a, ask := pathStore(t, func(o *Options) {
		o.PromConfig = mustParseProm(t, dir, "global: {evaluation_interval: 50ms}\nrule_files: ['*.yml']\n")
	})
	r1 := url.Values{"match[]": {`{__graphite__="racks.r1.*"}`}}
	for _, c := range []struct{ path, want string }{
		{"/api/v1/series", `{"status":"success","data":[{"__name__":"temp","host":"x1","rack":"r1"},{"__name__":"temp","host":"x2","rack":"r1"}]}`},
		{"/api/v1/labels", `{"status":"success","data":["__name__","host","rack"]}`},
		{"/api/v1/label/host/values", `{"status":"success","data":["x1","x2"]}`},
		{"/api/v1/label/__graphite__/values", `{"status":"success","data":[]}`},
		{"/federate", "# TYPE temp untyped\ntemp{host=\"x1\",rack=\"r1\",instance=\"\"} 5"},
	} {
		if status, body := ask(c.path, r1); status != http.StatusOK || !strings.HasPrefix(body, c.want) || strings.Contains(body, `"r2"`) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if _, body := ask("/api/v1/query", url.Values{"query": {"loads"}}); strings.Contains(body, `"3"]`) {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(body)
		}
	}
	if got := remoteRead(t, a, &prompb.LabelMatcher{Name: "__graphite__", Value: "racks.*.temp"}, &prompb.LabelMatcher{Name: "rack", Value: "r2"}); len(got) != 1 || len(got[0].Labels) != 3 {
		t.Errorf("remote read: %v", got)
	}
	form := url.Values{"match[]": {`{__graphite__="racks.r1.*"}`}}
	if status, body := promtest.Do(t, http.MethodPost, "http://"+a.Addr()+"/api/v1/admin/tsdb/delete_series", form); status != http.StatusNoContent {
		t.Fatal(status, body)
	}
	if _, body := ask("/api/v1/query", url.Values{"query": {"count(temp)"}}); !strings.Contains(body, `"1"]`) {
		t.Errorf("after the deletion: %s", body)
	}
}

func remoteRead(t *testing.T, a *Adapter, matchers ...*prompb.LabelMatcher) []*prompb.TimeSeries {
	t.Helper()
	request, err := proto.Marshal(&prompb.ReadRequest{Queries: []*prompb.Query{{EndTimestampMs: time.Now().UnixMilli(), Matchers: matchers}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+"/api/v1/read", bytes.NewReader(snappy.Encode(nil, request)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, string(body), err)
	}
	text, err := snappy.Decode(nil, body)
	var answer prompb.ReadResponse
	if err == nil {
		err = proto.Unmarshal(text, &answer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer.Results[0].Timeseries
}

// Paths go together with the lookback of series that have points seldom.
func TestPathSelectorLookback(t *testing.T) {
	a, ask := pathStore(t, func(o *Options) { o.Prometheus.Query.Lookbacks = []string{`servers\..*=step`} })
	refs, errs := a.store.Resolve(t.Context(), []storage.Series{a.names.FromLabels(labels.FromStrings("__name__", "servers.web09.hourly"))})
	if errs != nil {
		t.Fatal(errs)
	}
	var batch storage.Batch
	now := time.Now()
	for i := range 24 {
		batch.Add(refs[0], now.Add(-time.Duration(i)*time.Hour-30*time.Minute).UnixMilli(), float64(i))
	}
	if err := a.store.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	selector := `{__graphite__="servers.*.hourly"}`
	for lookback, want := range map[string][]string{"": named("servers.web09.hourly"), "step": named("servers.web09.hourly"), "off": nil} {
		form := url.Values{"query": {selector}}
		if lookback != "" {
			form.Set("lookback", lookback)
		}
		if _, body := ask("/api/v1/query", form); !slices.Equal(shownSeries(t, body), want) {
			t.Errorf("lookback=%s: %s", lookback, body)
		}
	}
	if _, body := ask("/api/v1/status/explain", url.Values{"query": {selector}}); !strings.Contains(body, `"series":1`) {
		t.Error(body)
	}
}
