// Package write is the write path of a store: it puts points into the rows of the data table, or
// first into a log and the head, from which whole rows are put later. It also deletes rows that are
// too old. It registers no series and answers no query.
package write
