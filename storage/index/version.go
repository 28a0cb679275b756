package index

// A MetricVersion tells which series a metric has. Equal versions mean the same series.
type MetricVersion struct {
	Series   int    // how many
	removals uint64 // how often series of any metric were removed or restored before
}

// Version returns the version of the series of a metric.
func (x *Index) Version(metric string) MetricVersion {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return MetricVersion{len(x.ofMetric(metric)), x.removals}
}

// Since returns, ascending, the series of a metric that were added after a version, up to another
// one. It returns false if a series was removed or restored in between.
func (x *Index) Since(metric string, from, to MetricVersion) ([]ID, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	list := x.ofMetric(metric)
	if from.removals != to.removals || to.removals != x.removals || from.Series > to.Series || to.Series > len(list) {
		return nil, false
	}
	return append([]ID{}, list[from.Series:to.Series]...), true
}

// ofMetric needs mu.
func (x *Index) ofMetric(metric string) []ID {
	if len(metric) != x.layout.MetricWidth {
		return nil
	}
	return x.metrics.get(numberOf(metric))
}
