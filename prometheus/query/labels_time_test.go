package query

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestLabelsInTime lists names of series of two days, with one day in between.
func TestLabelsInTime(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	p := newPromStorage(store)
	const day = 24 * 3600
	p.Write(t, labels.FromStrings("__name__", "old", "pod", "a", "zone", "x"), 10*day*1000)
	p.Write(t, labels.FromStrings("__name__", "young", "pod", "b"), 12*day*1000, 12*day*1000+60_000)
	server := apiServer(t, testAPIOptions(t, store))
	for _, c := range []struct{ path, want string }{
		{"labels", `["__name__","pod","zone"]`},
		{"labels?start=1036800&end=1036900", `["__name__","pod"]`},
		{"labels?start=950400&end=1000000", `[]`},
		{"label/pod/values", `["a","b"]`},
		{"label/pod/values?start=1036800", `["b"]`},
		{"label/pod/values?end=1036799", `["a"]`},
		{"label/zone/values?start=1036800", `[]`},
		{"label/__name__/values?end=900000", `["old"]`},
		{"label/__name__/values?start=0&end=10", `[]`},
		{"series?match[]=%7Bpod=~%22.%2B%22%7D&start=1036800", `[{"__name__":"young","pod":"b"}]`},
	} {
		status, body := promtest.Do(t, http.MethodGet, server.URL+"/api/v1/"+c.path, nil)
		if status != 200 || !strings.Contains(body, `"data":`+c.want) {
			t.Errorf("%s: %d %s, want %s", c.path, status, body, c.want)
		}
	}
}
