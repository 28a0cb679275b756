package storage

// Kind is the kind of an Object. The tables contain its number: what a number meant once, it means
// forever. 0 is never used.
type Kind byte

// The kinds of objects. A Histogram is the sample of its instant: it and a float never share one.
// Several exemplars may share an instant. A StartTime belongs to the sample at its instant, and stays
// under a newer sample until a newer StartTime is written.
const (
	// KindFloat is a float that no data point holds, in the tables alone: a NaN with its payload, an
	// infinity. Data: the 8 bytes of a float64.
	KindFloat Kind = 1
	// KindHistogram has as data a prometheus.Histogram of remote write 1.0 without its timestamp.
	KindHistogram Kind = 2
	// KindExemplar has as data a prometheus.Exemplar of remote write 1.0 without its timestamp.
	KindExemplar Kind = 3
	// KindStartTime has as data a signed varint: start time minus the sample's time in milliseconds. At
	// a sum of deltas there may be an uvarint after it: nanoseconds from the sample's time to the end
	// of the last delta.
	KindStartTime Kind = 4
	// KindCoded is a histogram of OpenTSDB, in answers alone; it is put by PutHistograms. Its instant
	// may have a sample too, or two of them. Data: the id of its codec, and what that has written.
	KindCoded Kind = 0xff
)

// IsSample reports whether an object of this kind is the sample of its instant. An instant has at
// most one such object, and then no data point.
func (k Kind) IsSample() bool { return k == KindFloat || k == KindHistogram }
