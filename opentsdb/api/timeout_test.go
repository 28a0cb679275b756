package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// TestTimeouts: only queries end after --query.timeout. Edits have the time of the store, and what may
// be about very much has no limit.
func TestTimeouts(t *testing.T) {
	const query, edit = time.Second, time.Minute
	a := &API{o: Options{Timeout: query, EditTimeout: edit}}
	for _, test := range []struct {
		method, path string
		want         time.Duration
	}{
		{http.MethodGet, "/api/query", query},
		{http.MethodPost, "/api/query/last", query},
		{http.MethodPost, "/api/search/lookup", query},
		{http.MethodDelete, "/api/query", edit},
		{http.MethodPost, "/api/annotation", edit},
		{http.MethodPut, "/api/annotation/bulk", edit},
		{http.MethodDelete, "/api/annotations/bulk", edit},
		{http.MethodPost, "/api/uid/assign", edit},
		{http.MethodGet, "/api/v1/uid/assign", edit},
		{http.MethodPut, "/api/uid/uidmeta", edit},
		{http.MethodPost, "/api/uid/tsmeta", edit},
		{http.MethodPost, "/api/tree", edit},
		{http.MethodPost, "/api/tree/rules", edit},
		{http.MethodDelete, "/api/tree", 0},
		{http.MethodPost, "/api/uid/rename", 0},
	} {
		path, err := httpapi.ParsePath(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.timeout(path, test.method); got != test.want {
			t.Errorf("%s %s ends after %v, want %v", test.method, test.path, got, test.want)
		}
	}
}
