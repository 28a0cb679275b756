package columns

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A TSMeta document as it was made, which nearly all are, in the coded form of cells (see
// Encoder): a quarter of its length, and an engine of our own writes, sorts and keeps it by
// the million.
//
//	cell = 80(1) created(uvarint) TSUID
const formNewTSMeta = formReserved

// appendMetaCell appends the coded form of a cell, if it is such a document to the letter.
func appendMetaCell(dst, qualifier, value []byte) (coded []byte, ok bool) {
	if !bytes.Equal(qualifier, schema.MetaQualifier()) {
		return dst, false
	}
	tsuid, number, ok := schema.CutNewTSMeta(value)
	if !ok {
		return dst, false
	}
	created, isNumber := parseCreated(number)
	if !ok || !isNumber {
		return dst, false
	}
	at := len(dst)
	dst = binary.AppendUvarint(append(dst, formNewTSMeta), created)
	if dst, ok = appendUnhex(dst, tsuid); !ok {
		return dst[:at], false
	}
	return dst, true
}

// parseCreated reads digits that strconv.AppendInt would write again.
func parseCreated(digits []byte) (n uint64, ok bool) {
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// appendUnhex is the inverse of appendHex; not ok for anything that it never appends.
func appendUnhex(dst, text []byte) ([]byte, bool) {
	if len(text)%2 != 0 {
		return dst, false
	}
	for i := 0; i < len(text); i += 2 {
		high, low := unhex(text[i]), unhex(text[i+1])
		if high > 15 || low > 15 {
			return dst, false
		}
		dst = append(dst, high<<4|low)
	}
	return dst, true
}

// unhex returns the value of an upper-case hexadecimal digit, 16 for anything else.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

// parseMetaCell appends the cell that appendMetaCell coded.
func parseMetaCell(qualifier, value, coded []byte) (q, v []byte, err error) {
	created, width := binary.Uvarint(coded[1:])
	if width <= 0 || len(strconv.FormatUint(created, 10)) > 18 {
		return qualifier, value, errColumns
	}
	return append(qualifier, schema.MetaQualifier()...), schema.AppendNewTSMeta(value, coded[1+width:], int64(created)), nil
}
