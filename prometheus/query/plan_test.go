package query

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// plannedStore plans one read of all series that it finds.
type plannedStore struct {
	storage.Querier
	asked storage.Query
}

func (s *plannedStore) Plan(q storage.Query) ([]storage.Plan, error) {
	s.asked = q
	if len(q.Refs) == 0 {
		return nil, nil
	}
	return []storage.Plan{{
		Kind: "rows", First: q.Refs[0], Metric: []byte{0, 0, 1}, Series: len(q.Refs), Reads: 1, Rows: 2, RowsOfMetric: 4,
		Costs: map[string]float64{"rows": 0.5, "range": 3}, RowsExpected: 2,
		Last: &storage.PlanOutcome{RowsExpected: 3, RowsRead: 4, Took: 1500 * time.Microsecond, At: time.Unix(60, 0)},
	}}, nil
}

func TestPlanAPI(t *testing.T) {
	plain := &promtest.PlainStore{}
	if _, errs := plain.Resolve(t.Context(), []storage.Series{{Metric: "up"}}); errs != nil {
		t.Fatal(errs)
	}
	store := &plannedStore{Querier: plain}
	server := apiServer(t, testAPIOptions(t, store))
	for _, c := range []struct {
		query  string
		status int
		want   string // the answer, or its error
	}{
		{"", http.StatusBadRequest, "no match[] parameter provided"},
		{"match[]=up{", http.StatusBadRequest, `invalid parameter "match[]": 1:4: parse error: unexpected end of input inside braces`},
		{"match[]=up&start=x", http.StatusBadRequest, `invalid parameter "start": cannot parse "x" to a valid timestamp`},
		{
			"match[]=nothing&start=0&end=1.5", http.StatusOK,
			`{"start":"1970-01-01T00:00:00Z","end":"1970-01-01T00:00:01.5Z","series":0,"groups":[]}`,
		},
		{
			"match[]=up&start=1970-01-01T00:00:00Z&end=7200", http.StatusOK,
			`{"start":"1970-01-01T00:00:00Z","end":"1970-01-01T02:00:00Z","series":1,"groups":[` +
				`{"kind":"rows","metric":"up","uid":"000001","series":1,"reads":1,"rows":2,"rowsOfMetric":4,"rowsExpected":2,"costMillis":{"range":3,"rows":0.5},` +
				`"last":{"rowsExpected":3,"rowsRead":4,"millis":1.5,"at":"1970-01-01T00:01:00Z"}}]}`,
		},
	} {
		values, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get(server.URL + Prefix + "/status/plan?" + values.Encode())
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Data  json.RawMessage `json:"data"`
			Error string          `json:"error"`
		}
		err = json.NewDecoder(answer.Body).Decode(&got)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		text := got.Error
		if text == "" {
			text = string(got.Data)
		}
		if diff := cmp.Diff(c.want, text); diff != "" || answer.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d (-want +got):\n%s", c.query, answer.StatusCode, c.status, diff)
		}
	}
}
