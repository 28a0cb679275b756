package schema

// Internal.extractDataPoints of OpenTSDB 2.4 and 2.5 takes a data cell for an append cell when its
// first byte is prefixAppend, whatever its length. Then DumpSeries and /api/query/last fail or
// return what is not a point. Depending on the bytes of the value, fsck --fix-all deletes the cell
// with all its points, replaces the points by others, or stops there without a message. In a
// qualifier of seconds that byte is seconds 80 to 95 of the hour. The queries and the compaction of
// a TSD check the length first and read such cells.

// MistakenForAppend reports whether the qualifier is of several points and OpenTSDB's fsck takes it
// for an append cell.
//
// One point is no such cell, though DumpSeries and the last point fail there as well: fsck reads it
// as what it is, a TSD writes it so itself, and under another qualifier a TSD's correction would
// not overwrite it.
func MistakenForAppend(qualifier []byte) bool {
	return len(qualifier) > 2 && len(qualifier)%2 == 0 && qualifier[0] == prefixAppend
}

// FromFirst returns the first point of a cell of several as it is elsewhere: whether it counted
// milliseconds before asFirst is not known there.
func (p Point) FromFirst() Point {
	p.Millis = p.Millis && (p.Offset%1000 != 0 || p.Offset/1000>>4 != prefixAppend)
	return p
}

// AsFirst returns the point as it may be first of several in a cell: one that would begin the
// qualifier with prefixAppend counts milliseconds.
func (p Point) AsFirst() Point {
	p.Millis = p.Millis || p.Offset/1000>>4 == prefixAppend
	return p
}
