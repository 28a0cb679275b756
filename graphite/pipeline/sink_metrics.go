package pipeline

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// filteredCounters are those of points that the lists of names drop. They are not received points.
type filteredCounters struct{ black, white prometheus.Counter }

func newFilteredCounters(reg prometheus.Registerer) filteredCounters {
	vec := promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_graphite_points_filtered_total", Help: "Points dropped by their names: found in --carbon.blacklist, or not found in --carbon.whitelist.",
	}, []string{"list"})
	return filteredCounters{vec.WithLabelValues("blacklist"), vec.WithLabelValues("whitelist")}
}

// isFiltered reports whether a list drops a name.
func isFiltered(err error) bool {
	return errors.Is(err, errBlacklisted) || errors.Is(err, errNotWhitelisted)
}

// count counts a point if a list drops its name.
func (c filteredCounters) count(err error) bool {
	switch {
	case errors.Is(err, errBlacklisted):
		c.black.Inc()
	case errors.Is(err, errNotWhitelisted):
		c.white.Inc()
	default:
		return false
	}
	return true
}

func newSinkCounters(reg prometheus.Registerer) ingest.Counters {
	counter := func(name, help string) prometheus.Counter {
		return promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "tsdbridge_graphite_points_" + name + "_total", Help: help})
	}
	return ingest.Counters{
		Received: counter("received", "Points handed to the store, those that are handed to it again included."),
		Written:  counter("written", "Points that the store acknowledged."),
		Rejected: counter("rejected", "Points refused for good: of names that the store does not take."),
		Failed:   counter("failed", "Points not acknowledged for a reason of ours; the listener hands them over again."),
	}
}
