package storage

// A SeriesVersion tells which series a metric has, or all metrics have. Equal versions mean the same series
// of the same names.
type SeriesVersion struct {
	Series   int    // how many; of all metrics: those that were removed count
	Removals uint64 // how often series of any metric were removed, restored or renamed before
}
