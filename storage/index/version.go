package index

// A Version tells which series a metric has, or all metrics have. Equal versions mean the same series
// of the same names.
type Version struct {
	Series   int    // how many; of all metrics: those that were removed count
	removals uint64 // how often series of any metric were removed, restored or renamed before
}

// Renamed changes all versions: series have other names.
func (x *Index) Renamed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removals++
}

// Version returns the version of the series of a metric.
func (x *Index) Version(metric string) Version {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Version{len(x.ofMetric(metric)), x.removals}
}

// Since returns, ascending, the series of a metric that were added after a version, up to another
// one. It returns false if a series was removed or restored in between.
func (x *Index) Since(metric string, from, to Version) ([]ID, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := x.ofMetric(metric)
	if from.removals != to.removals || to.removals != x.removals || from.Series > to.Series || to.Series > len(list) {
		return nil, false
	}
	return append([]ID{}, list[from.Series:to.Series]...), true
}

// WholeVersion returns the version of all series.
func (x *Index) WholeVersion() Version {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Version{x.tsuids.Len(), x.removals}
}

// WholeSince is Since for the series of all metrics.
func (x *Index) WholeSince(from, to Version) ([]ID, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if from.removals != to.removals || to.removals != x.removals || from.Series > to.Series || to.Series > x.tsuids.Len() {
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
func (x *Index) ofMetric(metric string) []ID {
	if len(metric) != x.layout.MetricWidth {
		return nil
	}
	return x.metrics.get(numberOf(metric))
}
