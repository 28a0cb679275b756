package query

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestExplainAPI evaluates queries and reads their explanations.
func TestExplainAPI(t *testing.T) {
	server := apiServer(t, testAPIOptions(t, demoStore(t)))
	for _, c := range []struct {
		query  string
		status int
		want   []string // parts of the answer
	}{
		{
			"query=sum(rate(requests_total[5m]))/sum(rate(requests_total[5m]))&start=600&end=1200&step=60", http.StatusOK,
			[]string{
				`"path":"columns"`, `"step":60`, `"operator":"binary operation"`, `"shared":2`, `"again":true`, `"expression":"rate(requests_total[5m])"`,
				`"selector":"{__name__=\"requests_total\"}"`, `"start":"1970-01-01T00:05:00.001Z"`, `"plans":[{"kind":`, `"computingSeconds":`,
				`"language":"promql"`, `"ways":[{"way":`,
			},
		},
		{"query=requests_total&time=600", http.StatusOK, []string{`"operator":"selector"`, `"start":"1970-01-01T00:10:00Z"`, `"step":0`, `"memoryBytes":`}},
		{"query=requests_total[1m]&time=600", http.StatusOK, []string{`"operator":"samples"`, `"expression":"requests_total[1m]"`}},
		{"query=rate(temperature[5m])&time=600", http.StatusOK, []string{`"infos":["PromQL info: metric might not be a counter`}},
		{"query=timestamp(requests_total @ 600 offset 1m)", http.StatusOK, []string{`"path":"engine"`, `"left":"timestamp of a selector with @ and offset"`, `"operator":"Prometheus' engine, because: timestamp of a selector`, `"operator":"selector","expression":"{__name__=\"requests_total\"}","series":3,"samples":61,`, `"reads":[0]`, `"reads":[{"selector":`, `"plans":[{"kind":`}},
		{"query=requests_total %2B on (job) temperature&time=600", http.StatusUnprocessableEntity, []string{`"errorType":"execution"`, "found duplicate series"}},
		{"query=sum(", http.StatusBadRequest, []string{`"errorType":"bad_data"`, "parse error"}},
		{"query=1&start=1&end=0&step=1", http.StatusBadRequest, []string{"end timestamp must not be before start time"}},
		{"query=1&start=0&end=1", http.StatusBadRequest, []string{`cannot parse \"\" to a valid duration`}},
		{"query=1&start=0&end=1&step=0", http.StatusBadRequest, []string{"zero or negative"}},
		{"query=1&start=0&end=100000&step=1", http.StatusBadRequest, []string{"11,000 points"}},
		{"query=1&step=1", http.StatusBadRequest, []string{"needs start, end and step"}},
		{"query=1&timeout=x", http.StatusBadRequest, []string{`parameter \"timeout\"`}},
	} {
		values, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get(server.URL + explainPath + "?" + values.Encode())
		if err != nil {
			t.Fatal(err)
		}
		var body json.RawMessage
		err = json.NewDecoder(answer.Body).Decode(&body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d, %v", c.query, answer.StatusCode, c.status, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(body), want) {
				t.Errorf("%s: no %s in %s", c.query, want, body)
			}
		}
	}
}
