// Package read is the read path of a store: it plans how the rows of series are read, reads them on
// several cores, decodes them, and joins what the head holds. It answers in the requested order, so
// its callers need not split a selection themselves. It writes nothing, and finds no series by
// name.
package read
