// Package log keeps records that survive a crash. Append returns when a record is on the disk;
// callers that wait at the same time share one write and one fdatasync. After a crash Replay
// returns, in order, every record whose Append had returned, and perhaps some whose Append had not.
// README.md draws the bytes.
//
// It never looks into a record, never answers before the disk has, never retries an fdatasync on
// pages that failed one, and never takes a broken record for the end of the log when a later one
// proves that it had been on the disk.
package log
