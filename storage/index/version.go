package index

import (
	"github.com/tsdbridge/tsdbridge/storage"
)

// Renamed changes all versions: series have other names.
func (x *Index) Renamed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removals++
}

// Version returns the version of the series of a metric.
func (x *Index) Version(metric string) storage.SeriesVersion {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return storage.SeriesVersion{Series: len(x.ofMetric(metric)), Removals: x.removals}
}

// Since returns, ascending, the series of a metric that were added after a version, up to another
// one. It returns false if a series was removed or restored in between.
func (x *Index) Since(metric string, from, to storage.SeriesVersion) ([]ID, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := x.ofMetric(metric)
	if from.Removals != to.Removals || to.Removals != x.removals || from.Series > to.Series || to.Series > len(list) {
		return nil, false
	}
	return append([]ID{}, list[from.Series:to.Series]...), true
}

// WholeVersion returns the version of all series.
func (x *Index) WholeVersion() storage.SeriesVersion {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return storage.SeriesVersion{Series: x.tsuids.Len(), Removals: x.removals}
}

// WholeSince is Since for the series of all metrics.
func (x *Index) WholeSince(from, to storage.SeriesVersion) ([]ID, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if from.Removals != to.Removals || to.Removals != x.removals || from.Series > to.Series || to.Series > x.tsuids.Len() {
		return nil, false
	}
	ids := make([]ID, 0, to.Series-from.Series)
	for id := ID(from.Series); id < ID(to.Series); id++ {
		if _, removed := x.removed[id]; !removed {
			ids = append(ids, id)
		}
	}
	return ids, true
}

// ofMetric needs mu.
func (v *inverted) ofMetric(metric string) []ID {
	if len(metric) != v.layout.MetricWidth {
		return nil
	}
	return v.metrics.get(numberOf(metric))
}
