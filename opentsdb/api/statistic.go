package api

import (
	"net/http"
	"runtime"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// counters count the requests of an API.
type counters struct {
	requests, exceptions       atomic.Int64
	succeeded, refused, broken atomic.Int64 // queries
}

// query counts a query that has ended.
func (c *counters) query(err error) {
	switch {
	case err == nil:
		c.succeeded.Add(1)
	case statusOf(err).Status < http.StatusInternalServerError:
		c.refused.Add(1)
	default:
		c.broken.Add(1)
	}
}

// Statistics returns what the API and the process tell about themselves, by the names of a TSD. Those of
// its JVM and of HBase's client have no counterpart and are left out.
func (a *API) Statistics() []httpapi.Statistic {
	var all []httpapi.Statistic
	if a.o.Statistics != nil {
		all = a.o.Statistics()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return append(
		all,
		httpapi.Statistic{Name: "rpc.received", Value: a.count.requests.Load(), Tags: "type=http"},
		httpapi.Statistic{Name: "rpc.exceptions", Value: a.count.exceptions.Load(), Tags: ""},
		httpapi.Statistic{Name: "http.query.success", Value: a.count.succeeded.Load(), Tags: ""},
		httpapi.Statistic{Name: "http.query.invalid_requests", Value: a.count.refused.Load(), Tags: ""},
		httpapi.Statistic{Name: "http.query.exceptions", Value: a.count.broken.Load(), Tags: ""},
		httpapi.Statistic{Name: "jvm.ramfree", Value: int64(m.HeapIdle), Tags: ""}, //nolint:gosec // far below 2^63
		httpapi.Statistic{Name: "jvm.ramused", Value: int64(m.HeapInuse), Tags: ""},
		httpapi.Statistic{Name: "jvm.thread.count", Value: int64(runtime.NumGoroutine()), Tags: ""},
	)
}
