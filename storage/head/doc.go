// Package head keeps the open hours in memory: for each series (a dense number that the caller
// gives) and each hour the points and objects that are acknowledged but not yet in the table,
// compressed as they grow and readable at once. Whole rows are handed out to be put (Seal) and stay
// readable until the caller reports that the table has them (Drop).
//
// It never touches a table, a log or a file, never knows a name, and loses everything with the
// process: the caller's log is what makes a point durable. README.md draws the structures and
// states what they cost.
//
// The caller must follow two rules. A read takes the head's part of a series first and the table's
// second: in the other order a row that is put and dropped in between is in neither. And the log is
// needed from the older of OldestMark and the records that are written but not yet appended.
package head
