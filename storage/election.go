package storage

// An Election is which of several senders of the same data is listened to.
type Election struct {
	Elected string // empty: nobody was
	Since   int64  // when it was elected, milliseconds
	Heard   int64  // when it was heard last, as of the record, milliseconds
}

// An ElectionEntry is an election as it was read, or written last.
type ElectionEntry struct {
	Election
	Record []byte // as the table has it; nil: there is none
}
