package pebble

import (
	"encoding/binary"
	"errors"
)

// A row is kept as one value. The same form is a row at rest and a change to it, which is what lets Pebble
// fold them in any grouping:
//
//	row    = kind(1) count(uvarint) last(uvarint ms) record*
//	record = length of the qualifier*2 + deleted (uvarint), qualifier
//	         and unless deleted: last-time (uvarint ms), length of the value (uvarint), value
//
// Records are in ascending order of their qualifiers, each of which occurs once. last is the time of the latest
// change that was folded in, a put or a delete, so no cell is later. The first byte leaves room for other forms.
const (
	kindCells   = 1 // puts only: a row at rest
	kindChanges = 2 // some records are deletes
)

var errCorrupt = errors.New("corrupt row")

// record is one cell, or the deletion of one.
type record struct {
	qualifier, value []byte
	time             int64 // milliseconds
	deleted          bool
}

// appendRow appends the form of records, which must be sorted, to dst.
func appendRow(dst []byte, records []record, last int64) []byte {
	at := len(dst)
	dst = append(dst, kindCells)
	dst = binary.AppendUvarint(dst, uint64(len(records)))
	dst = binary.AppendUvarint(dst, uint64(last))
	for i := range records {
		r := &records[i]
		if r.deleted {
			dst[at] = kindChanges
			dst = binary.AppendUvarint(dst, uint64(len(r.qualifier))<<1|1)
			dst = append(dst, r.qualifier...)
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(len(r.qualifier))<<1)
		dst = append(dst, r.qualifier...)
		dst = binary.AppendUvarint(dst, uint64(last-r.time))
		dst = binary.AppendUvarint(dst, uint64(len(r.value)))
		dst = append(dst, r.value...)
	}
	return dst
}

// rowReader reads the records of a row.
type rowReader struct {
	rest    []byte
	left    int
	last    int64 // milliseconds
	changes bool
}

// parseRow reads the head of a row.
func parseRow(row []byte) (rowReader, error) {
	if len(row) == 0 || row[0] != kindCells && row[0] != kindChanges {
		return rowReader{}, errCorrupt
	}
	r := rowReader{rest: row[1:], changes: row[0] == kindChanges}
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

// next reads one record, whose slices are parts of the row; more is false at the end.
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
	if to.qualifier, ok = r.bytes(head >> 1); !ok {
		return false, errCorrupt
	}
	if to.deleted = head&1 == 1; to.deleted {
		to.value, to.time = nil, 0
		if !r.changes {
			return false, errCorrupt
		}
		return true, nil
	}
	age, ok := r.uvarint()
	if !ok || age > uint64(r.last) {
		return false, errCorrupt
	}
	to.time = r.last - int64(age)
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
