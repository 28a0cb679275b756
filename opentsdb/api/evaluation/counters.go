package evaluation

import (
	"net/http"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// counters count queries.
type counters struct{ succeeded, refused, broken atomic.Int64 }

// query counts a query that has ended.
func (c *counters) query(err error) {
	switch {
	case err == nil:
		c.succeeded.Add(1)
	case StatusOf(err).Status < http.StatusInternalServerError:
		c.refused.Add(1)
	default:
		c.broken.Add(1)
	}
}

// Statistics returns how many queries have ended, by the names of a TSD.
func (e *Evaluator) Statistics() []httpapi.Statistic {
	return []httpapi.Statistic{
		{Name: "http.query.success", Value: e.counters.succeeded.Load()},
		{Name: "http.query.invalid_requests", Value: e.counters.refused.Load()},
		{Name: "http.query.exceptions", Value: e.counters.broken.Load()},
	}
}
