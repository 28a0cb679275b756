package ingest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Counters are those of the points of one protocol. Received = Written + Rejected + Failed.
type Counters struct{ Received, Written, Rejected, Failed prometheus.Counter }

// Count counts the points of a job after Store returned err.
func (c Counters) Count(j *Job, err error) {
	c.CountPoints(len(j.Batch.Refs)+j.Refused, j.Refused, err)
}

// CountPoints counts points, some of which were refused one by one. err is what became of the others.
func (c Counters) CountPoints(points, refused int, err error) {
	n := float64(points - refused)
	c.Received.Add(float64(points))
	c.Rejected.Add(float64(refused))
	switch {
	case err == nil:
		c.Written.Add(n)
	case storage.IsRefusal(err):
		c.Rejected.Add(n)
	default:
		c.Failed.Add(n)
	}
}
