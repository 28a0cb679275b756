// Package compact compacts closed rows of tables that several processes write to: it puts the single
// cells of an hour that is over into one cell, as a TSD does. Processes share the work by leases,
// and each row is changed only if it is still as it was read, so that no concurrent write is lost.
// Old hours that are written to again are found by the stamps of their cells.
// It never touches objects, annotations and histograms, and never decides which of two values
// stays: storage/row does.
package compact
