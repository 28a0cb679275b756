package kv

// A StoredCell is a cell in the memory of the engine that shows it, good only while it is shown. An engine that keeps cells in a form of its own
// may show that form in Coded, and neither Qualifier nor Value; what it means is between the engine and its reader.
type StoredCell struct {
	Coded            []byte
	Qualifier, Value []byte
	Time             int64 // milliseconds, as in Cell
}

// Costs are what reading rows of points costs an engine, in microseconds: what a reader chooses between its ways by.
type Costs struct {
	Get  float64 // a row asked for by its key, far from the others, there or not
	Row  float64 // a row that a scan gives
	Scan float64 // to begin a scan
	// A row that a scan goes by because it has none of Match.Suffixes, or not Match.Tags; Tag 0: such a scan has no merit of its own.
	Suffix, Tag float64
	// A row that a scan leaps to. It can leap when there are no more than Leaps Suffixes (0: never); what Suffix says is of scans that cannot.
	Leap  float64
	Leaps int
}
