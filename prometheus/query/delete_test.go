package query

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// deletable returns a server that deletes from a store on an engine, with demo data in it.
func deletable(t *testing.T, engine string) (base string) {
	t.Helper()
	store := promtest.OpenStore(t, promtest.Engines()[engine](t))
	promtest.WriteDemo(t, newPromStorage(store))
	o := testAPIOptions(t, store)
	o.Admin, o.Deleter = true, store
	return apiServer(t, o).URL + Prefix
}

// count returns how many samples a selector has over all of the demo's time.
func count(t *testing.T, base, selector string) string {
	t.Helper()
	_, body := promtest.Do(t, http.MethodPost, base+"/query", url.Values{"query": {"sum(count_over_time(" + selector + "[3h]))"}, "time": {"7200"}})
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if len(answer.Data.Result) == 0 {
		return ""
	}
	return answer.Data.Result[0].Value[1].(string)
}

// TestDeleteSeries deletes samples, histograms and exemplars by matchers and time.
func TestDeleteSeries(t *testing.T) {
	for engine := range promtest.Engines() {
		t.Run(engine, func(t *testing.T) {
			base := deletable(t, engine)
			request := func(form url.Values) (int, string) {
				t.Helper()
				return promtest.Do(t, http.MethodPost, base+deletePath, form)
			}
			others := count(t, base, `temperature`)
			for _, form := range []url.Values{
				{"match[]": {`requests_total{instance="a"}`, `latency{instance=~"a|b"}`}, "start": {"0"}, "end": {"3600"}},
				{"match[]": {`in_use`}},
			} {
				if status, body := request(form); status != http.StatusNoContent {
					t.Fatalf("%v: %d %s", form, status, body)
				}
			}
			for selector, want := range map[string]string{`in_use`: "", `temperature`: others} {
				if got := count(t, base, selector); got != want {
					t.Errorf("%s: %q samples, want %q", selector, got, want)
				}
			}
			first := func(selector string) string {
				_, body := promtest.Do(t, http.MethodPost, base+"/query", url.Values{"query": {"min_over_time(timestamp(" + selector + ")[3h:15s]) > bool 3600"}, "time": {"7200"}})
				return body
			}
			if body := first(`requests_total{instance="a"}`); !strings.Contains(body, `"1"]`) {
				t.Errorf("samples of the first hour are left: %s", body)
			}
			if body := first(`requests_total{instance="b"}`); !strings.Contains(body, `"0"]`) {
				t.Errorf("samples of another series are gone: %s", body)
			}
			if _, body := promtest.Do(t, http.MethodGet, base+`/series?match[]=in_use`, nil); !strings.Contains(body, `"data":[]`) {
				t.Errorf("a series is left: %s", body)
			}
			_, body := promtest.Do(t, http.MethodGet, base+`/query_exemplars?query=requests_total&start=0&end=3600`, nil)
			if strings.Contains(body, `"trace_id":"a"`) || !strings.Contains(body, `"trace_id":"b"`) {
				t.Errorf("exemplars: %s", body)
			}
		})
	}
}

// countedDeleter counts deletions, and refuses them.
type countedDeleter struct{ refs [][]storage.Ref }

func (d *countedDeleter) Delete(_ context.Context, deletion storage.Deletion) (storage.Deleted, error) {
	d.refs = append(d.refs, deletion.Refs)
	return storage.Deleted{}, fmt.Errorf("nothing was deleted: %w", storage.ErrFull)
}

// All selectors of a request are one deletion, of each series once, so that one is not carried out while another one fails.
func TestDeleteSeriesAtOnce(t *testing.T) {
	store := promtest.OpenStore(t, promtest.Engines()["memory"](t))
	promtest.WriteDemo(t, newPromStorage(store))
	o, deleter := testAPIOptions(t, store), &countedDeleter{}
	o.Admin, o.Deleter = true, deleter
	base := apiServer(t, o).URL + Prefix
	form := url.Values{"match[]": {`requests_total{instance="a"}`, `requests_total`, `in_use`, `requests_total`}}
	status, body := promtest.Do(t, http.MethodPost, base+deletePath, form)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "nothing was deleted") {
		t.Errorf("%d %s", status, body)
	}
	if len(deleter.refs) != 1 || len(deleter.refs[0]) < 3 || !slices.IsSorted(deleter.refs[0]) || len(slices.Compact(deleter.refs[0])) != len(deleter.refs[0]) {
		t.Errorf("deletions of %v", deleter.refs)
	}
}

// TestDeleteSeriesRefused sends requests that delete nothing.
func TestDeleteSeriesRefused(t *testing.T) {
	base := deletable(t, "memory")
	for _, tc := range []struct {
		form url.Values
		want string
	}{
		{nil, "no match[] parameter provided"},
		{url.Values{"match[]": {"{"}}, "invalid parameter"},
		{url.Values{"match[]": {"up"}, "start": {"x"}}, "start"},
		{url.Values{"match[]": {"temperature", "{"}}, "invalid parameter"},
		{url.Values{"match[]": {"temperature"}, "start": {"NaN"}}, `invalid parameter \"start\": invalid time value for 'start': cannot parse \"NaN\"`},
		{url.Values{"match[]": {"temperature"}, "start": {"-1795862419000000000"}}, "start"},
		{url.Values{"match[]": {"temperature"}, "start": {"0"}, "end": {"1e300"}}, "end"},
	} {
		if status, body := promtest.Do(t, http.MethodPost, base+deletePath, tc.form); status != http.StatusBadRequest || !strings.Contains(body, tc.want) {
			t.Errorf("%v: %d %s, want %q", tc.form, status, body, tc.want)
		}
	}
	if count(t, base, "temperature") == "" {
		t.Error("a request that was refused deletes")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+deletePath+"?match[]=temperature", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://elsewhere.example")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden || count(t, base, "temperature") == "" {
		t.Errorf("a page of another origin: %s", answer.Status)
	}
}

// TestSelected counts what a deletion with the same parameters would take.
func TestSelected(t *testing.T) {
	for engine := range promtest.Engines() {
		t.Run(engine, func(t *testing.T) {
			base := deletable(t, engine)
			for _, tc := range []struct {
				form url.Values
				want string
			}{
				{url.Values{"match[]": {`requests_total{instance="a"}`}}, `{"series":1,"metrics":1,"examples":[{"__name__":"requests_total","instance":"a"`},
				{url.Values{"match[]": {`{__name__=~"requests_total|in_use"}`, `in_use`}, "limit": {"0"}}, `"metrics":2,"examples":[]}`},
				{url.Values{"match[]": {`in_use{no="such"}`}}, `{"series":0,"metrics":0,"examples":[]}`},
				{url.Values{"match[]": {`{`}}, `invalid parameter`},
				{url.Values{"match[]": {`in_use`}, "limit": {"1001"}}, `limit must be a number from 0 to 1000`},
				{url.Values{"match[]": {`in_use`}, "end": {"x"}}, `invalid parameter`},
				{nil, `no match[] parameter provided`},
			} {
				if _, body := promtest.Do(t, http.MethodGet, base+"/status/selected?"+tc.form.Encode(), nil); !strings.Contains(body, tc.want) {
					t.Errorf("%v: %s, want %s", tc.form, body, tc.want)
				}
			}
			form := url.Values{"match[]": {`in_use`}}
			selected := func() string {
				_, body := promtest.Do(t, http.MethodGet, base+"/status/selected?"+form.Encode(), nil)
				return body
			}
			if body := selected(); strings.Contains(body, `"series":0`) {
				t.Errorf("before the deletion: %s", body)
			}
			if status, body := promtest.Do(t, http.MethodPost, base+deletePath, form); status != http.StatusNoContent {
				t.Fatalf("%d %s", status, body)
			}
			if body := selected(); !strings.Contains(body, `{"series":0,`) {
				t.Errorf("after the deletion: %s", body)
			}
		})
	}
}
