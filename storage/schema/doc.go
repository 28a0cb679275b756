// Package schema knows every byte of the OpenTSDB tables: row keys, salts, qualifiers, values,
// compacted and append cells, the UID and meta rows, trees and their documents. README.md draws them.
// Package own has the records that tsdbridge adds.
//
// It is pure: bytes in, bytes out. It never talks to a table, never assigns a UID, never decides
// which of two points at one instant is valid, and never reads a clock.
package schema
