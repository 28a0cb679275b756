// Package read is the read path of a store: it plans how the rows of series are read, reads them on
// several cores, decodes them, and joins what the head holds. It answers in the order that was
// asked for, so its callers need not share out the reading. It writes nothing, and finds no series
// by name.
package read
