package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Counters are those of the points of one protocol. Received = Written + Rejected + Failed.
type Counters struct{ Received, Written, Rejected, Failed prometheus.Counter }

// Count counts the points of a job after Store returned err.
func (c Counters) Count(j *Job, err error) {
	n := float64(len(j.Batch.Refs))
	c.Received.Add(n + float64(j.Refused))
	c.Rejected.Add(float64(j.Refused))
	switch {
	case err == nil:
		c.Written.Add(n)
	case storage.IsRefusal(err):
		c.Rejected.Add(n)
	default:
		c.Failed.Add(n)
	}
}
