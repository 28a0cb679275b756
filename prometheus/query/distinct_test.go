package query

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// TestEqualSelectors: equal selectors of a request find their series once.
func TestEqualSelectors(t *testing.T) {
	var finds atomic.Int64
	o := testAPIOptions(t, pausingStore{demoStore(t), func(context.Context) { finds.Add(1) }})
	server := apiServer(t, o)
	var match []string
	for range 20 {
		match = append(match, "requests_total", `{__name__="requests_total"}`, `latency{job="demo",instance=~"a|b"}`, `{instance=~"a|b", job="demo", __name__="latency", job="demo"}`)
	}
	for _, path := range []string{"/series", "/labels", "/label/instance/values", "/status/selected"} {
		finds.Store(0)
		_, once := promtest.Do(t, http.MethodGet, server.URL+Prefix+path+"?"+url.Values{"match[]": match[1:3]}.Encode(), nil)
		each := finds.Swap(0)
		status, body := promtest.Do(t, http.MethodGet, server.URL+Prefix+path+"?"+url.Values{"match[]": match}.Encode(), nil)
		if status != http.StatusOK || body != once || !strings.Contains(body, "success") {
			t.Errorf("%s: %d %.300s, want %.300s", path, status, body, once)
		}
		if n := finds.Load(); n != each {
			t.Errorf("%s: series were found %d times, %d times for the same selectors once", path, n, each)
		}
	}
}
