package storage

// A CodedHistogram is a histogram of OpenTSDB, as a TSD's codecs encode it. It stands beside the points of
// its series, so an instant may have both.
type CodedHistogram struct {
	Ref  Ref
	Time int64 // milliseconds
	// Millis means that the time came in milliseconds: a TSD stores a whole second that came so in
	// another cell.
	Millis bool
	Value  []byte // the id of the codec, and what it has written
}
