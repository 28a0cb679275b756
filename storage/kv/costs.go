package kv

// Costs are what reading rows of points costs an engine, in microseconds. A reader compares its
// ways to read by them.
type Costs struct {
	Get float64 // a row asked for by its key, far from the others, whether it exists or not
	// Near is a row asked for by its key, with others that are near to it: no more than NearRows others
	// lie between two of them on average. 0: such rows cost as much as others.
	Near     float64
	NearRows int
	Row      float64 // a row that a scan returns
	Scan     float64 // the begin of a scan
	// Suffix is a row that a scan passes because it has none of Match.Suffixes, Tag one that it
	// passes because of Match.Tags. With Tag 0 a scan gains nothing from tags.
	Suffix, Tag float64
	// Leap is a row that a scan jumps to. It can jump when there are at most Leaps suffixes (0:
	// never); Suffix is for scans that cannot.
	Leap  float64
	Leaps int
}
