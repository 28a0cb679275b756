package status_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A query is said in the other languages, a dotted name as the path that it is; what cannot be said has a reason.
func TestPhrases(t *testing.T) {
	a, _ := adaptertest.Run(t, adaptertest.Options(t, write.Through))
	if _, errs := a.Store().Resolve(t.Context(), []storage.Series{a.Names().FromPath("a.b")}); errs != nil {
		t.Fatal(errs)
	}
	for _, test := range []struct{ language, query, want string }{
		{"opentsdb", "none:a.b", `{"graphite":{"query":"a.b"},"opentsdb":{"query":"none:a.b"},"promql":{"query":"{__name__=\"a.b\"}"}}`},
		{"promql", `max({__name__="a.c"})`, `{"graphite":{"query":"maxSeries(seriesByTag('name=a.c'))"},"opentsdb":{"query":"max:a.c"},"promql":{"query":"max({__name__=\"a.c\"})"}}`},
		{
			"graphite", "sumSeries(a.*)",
			`{"graphite":{"query":"sumSeries(a.*)"},"opentsdb":{"why":"OpenTSDB's queries name one metric"},"promql":{"query":"sum({__name__=~\"a\\\\.[^.]*\"})"}}`,
		},
	} {
		text := servertest.Text(t, a, "/api/v1/status/phrases"+"?language="+test.language+"&query="+url.QueryEscape(test.query))
		var got struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(text), &got); err != nil || string(got.Data) != test.want {
			t.Errorf("%s: %v\n got %s\nwant %s", test.query, err, got.Data, test.want)
		}
	}
	for _, bad := range []string{"", "?language=sql&query=a", "?language=promql&query=sum("} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.Addr()+"/api/v1/status/phrases"+bad, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, r.Status)
		}
	}
}
