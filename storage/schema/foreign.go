package schema

import "encoding/binary"

// ForeignOffset returns the place, in milliseconds within the hour, of a cell of a data row that
// has a TSD's form and no point: an annotation or a histogram. ok is false for all other cells.
func ForeignOffset(qualifier []byte) (offset uint32, ok bool) {
	switch ClassifyCell(qualifier) {
	case CellAnnotation, CellHistogram:
	default:
		return 0, false
	}
	if len(qualifier) == 3 {
		return uint32(binary.BigEndian.Uint16(qualifier[1:])) * 1000, true
	}
	return binary.BigEndian.Uint32(qualifier[1:]), true
}

// ForeignTime is ForeignOffset by what the cell tells: an annotation is at its start. OpenTSDB puts one at a whole
// thousand of seconds into the column of another second (see AnnotationCell).
func ForeignTime(qualifier, value []byte) (offset uint32, ok bool) {
	offset, ok = ForeignOffset(qualifier)
	if !ok || ClassifyCell(qualifier) != CellAnnotation {
		return offset, ok
	}
	if a, err := ParseAnnotation(value); err == nil && a.Start > 0 {
		return uint32(MillisOf(a.Start) % (RowSeconds * 1000)), true
	}
	return offset, true
}
