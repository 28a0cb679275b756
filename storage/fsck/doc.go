// Package fsck checks what the OpenTSDB tables hold: keys, cells and values, each against the
// schema, and against what the other tables hold. It finds all that OpenTSDB's own fsck finds. It
// mends only what it is told to, each row by one change that is made only while the row is as it was
// read. It knows no engine: files of the embedded store are checked by storage/pebble.
package fsck
