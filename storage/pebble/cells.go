package pebble

import (
	"encoding/binary"
	"errors"
)

// A row is kept as one value. The same form is a row at rest and a change to it, which is what lets
// Pebble fold them in any grouping:
//
//	row    = kind(1) count(uvarint) last(uvarint ms) record*
//	record = length*4 + coded*2 + deleted (uvarint), so many bytes of qualifier
//	         and unless deleted: last-time (uvarint ms), length of the value (uvarint), value
//	       | length*4 + coded*2 (uvarint), so many bytes of a column-coded cell, last-time (uvarint ms)
//
// Records are in ascending order of their qualifiers, each of which occurs once. last is the
// greatest time of the changes that were folded in: when each was written, and the stamps of their
// puts. So no cell is later. A cell is coded (storage/columns) when it is written, if
// that makes it smaller, and stays as it is until it is read.
//
// Stores of format 1 have rows of other kinds, whose records begin with length*2 + deleted.
const (
	kindOldCells   = 1
	kindOldChanges = 2
	kindCells      = 3 // puts only: a row at rest
	kindChanges    = 4 // some records are deletes
)

// The low bits of a record.
const (
	recordDeleted = 1
	recordCoded   = 2
	recordBits    = 2
)

var errCorrupt = errors.New("corrupt row")

// record is one cell, or the deletion of one.
type record struct {
	qualifier, value []byte
	coded            []byte // instead of the two, or in addition
	time             int64  // milliseconds
	deleted          bool
}

// appendRow appends the form of records, which must be sorted, to dst.
func appendRow(dst []byte, records []record, last int64) []byte {
	at := len(dst)
	dst = append(dst, kindCells)
	dst = binary.AppendUvarint(dst, uint64(len(records)))
	dst = binary.AppendUvarint(dst, uint64(last))
	for i := range records {
		switch r := &records[i]; {
		case r.deleted:
			dst[at] = kindChanges
			dst = binary.AppendUvarint(dst, uint64(len(r.qualifier))<<recordBits|recordDeleted)
			dst = append(dst, r.qualifier...)
		case r.coded != nil:
			dst = binary.AppendUvarint(dst, uint64(len(r.coded))<<recordBits|recordCoded)
			dst = append(dst, r.coded...)
			dst = binary.AppendUvarint(dst, uint64(last-r.time))
		default:
			dst = binary.AppendUvarint(dst, uint64(len(r.qualifier))<<recordBits)
			dst = append(dst, r.qualifier...)
			dst = binary.AppendUvarint(dst, uint64(last-r.time))
			dst = binary.AppendUvarint(dst, uint64(len(r.value)))
			dst = append(dst, r.value...)
		}
	}
	return dst
}

// isAtRest reports whether a row has puts only.
func isAtRest(row []byte) bool { return row[0] == kindCells || row[0] == kindOldCells }

// rowReader reads the records of a row.
type rowReader struct {
	rest    []byte
	left    int
	last    int64 // milliseconds
	changes bool
	old     bool
}

// parseRow reads the head of a row.
func parseRow(row []byte) (rowReader, error) {
	if len(row) == 0 || row[0] < kindOldCells || row[0] > kindChanges {
		return rowReader{}, errCorrupt
	}
	r := rowReader{rest: row[1:], changes: !isAtRest(row), old: row[0] < kindCells}
	count, ok := r.uvarint()
	if !ok || count > uint64(len(r.rest)) { // a record has at least one byte
		return rowReader{}, errCorrupt
	}
	last, ok := r.uvarint()
	if !ok || int64(last) < 0 {
		return rowReader{}, errCorrupt
	}
	r.left, r.last = int(count), int64(last)
	return r, nil
}

// next reads one record, whose slices are parts of the row; more is false at the end. Of a coded
// cell it sets coded alone.
func (r *rowReader) next(to *record) (more bool, err error) {
	if r.left == 0 {
		if len(r.rest) > 0 {
			return false, errCorrupt
		}
		return false, nil
	}
	r.left--
	head, ok := r.uvarint()
	if !ok {
		return false, errCorrupt
	}
	if r.old {
		head = head>>1<<recordBits | head&recordDeleted
	}
	*to = record{deleted: head&recordDeleted != 0}
	first, ok := r.bytes(head >> recordBits)
	if !ok {
		return false, errCorrupt
	}
	if to.deleted {
		if to.qualifier = first; !r.changes || head&recordCoded != 0 {
			return false, errCorrupt
		}
		return true, nil
	}
	age, ok := r.uvarint()
	if !ok || age > uint64(r.last) {
		return false, errCorrupt
	}
	to.time = r.last - int64(age)
	if head&recordCoded != 0 {
		to.coded = first
		return true, nil
	}
	to.qualifier = first
	size, ok := r.uvarint()
	if !ok {
		return false, errCorrupt
	}
	if to.value, ok = r.bytes(size); !ok {
		return false, errCorrupt
	}
	return true, nil
}

func (r *rowReader) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		return 0, false
	}
	r.rest = r.rest[n:]
	return v, true
}

func (r *rowReader) bytes(n uint64) ([]byte, bool) {
	if n > uint64(len(r.rest)) {
		return nil, false
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b, true
}
