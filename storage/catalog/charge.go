package catalog

// What an answer takes by estimate, in bytes.
const (
	seriesBytes = 64 // a found series, without its tags
	// of a found series: two strings and the number of their UIDs; the texts are those of the cache
	// of names.
	tagBytes  = 48
	nameBytes = 64 // in a list
)
