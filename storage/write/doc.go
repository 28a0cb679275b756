// Package write is the write path of a store: it registers series, and puts their points into the
// rows of the data table, or first into a log and the head, from which whole rows are put later. It
// answers no query.
package write
