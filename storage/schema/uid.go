package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/storage"
)

// The column families of the tables.
const (
	FamilyID   = "id"   // tsdb-uid: names to UIDs, and the counters
	FamilyName = "name" // tsdb-uid: UIDs to names, and the UIDMeta documents
	FamilyData = "t"    // tsdb and tsdb-tree
	FamilyMeta = "name" // tsdb-meta
)

// UIDQualifier returns the column of a kind in both families of tsdb-uid: plural for metrics alone.
func UIDQualifier(k storage.NameKind) []byte { return []byte(k.Plural()) }

// UIDMetaQualifier returns the column of a kind's UIDMeta in FamilyName: singular for metrics too,
// unlike in OpenTSDB's manual.
func UIDMetaQualifier(k storage.NameKind) []byte { return []byte(k.String() + "_meta") }

// MaxIDRow returns the row of tsdb-uid with the counters of UIDs.
func MaxIDRow() []byte { return []byte{0} }

// maxNameLength is the length of the longest HBase row key in bytes; a name is a row key.
const maxNameLength = 32767

// EncodeName gives a name as tsdb-uid holds it: one byte a character, ISO-8859-1. OpenTSDB writes a
// question mark for what does not fit, so that names collide; here it is an error. So is U+0000:
// the name of that one character would be MaxIDRow.
func EncodeName(s string) ([]byte, error) { return AppendName(make([]byte, 0, len(s)), s) }

// AppendName appends EncodeName(s), which is never longer than s. After an error it returns dst.
func AppendName(dst []byte, s string) ([]byte, error) {
	if s == "" {
		return dst, errors.New("empty name")
	}
	b := dst
	for i, r := range s {
		if r == 0 || r > 0xFF {
			return dst, badCharacter(s, i)
		}
		b = append(b, byte(r))
	}
	if n := len(b) - len(dst); n > maxNameLength {
		return dst, fmt.Errorf("name of %d characters: at most %d fit", n, maxNameLength)
	}
	return b, nil
}

// badCharacter returns an error that describes the character at byte i of a name.
func badCharacter(s string, i int) error {
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Errorf("name %.100q: byte %#02x at %d is not UTF-8", s, s[i], i)
	}
	return fmt.Errorf("name %.100q: character %U at byte %d is not one of U+0001 to U+00FF", s, r, i)
}

// DecodeName is the inverse of EncodeName; every byte sequence is a name.
func DecodeName(b []byte) string {
	var s strings.Builder
	s.Grow(len(b))
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// EncodeUID gives the UID of an id: its low bytes. Ids begin at 1.
func EncodeUID(id int64, width int) ([]byte, error) {
	if id <= 0 || width < 8 && id>>(8*width) != 0 {
		return nil, fmt.Errorf("id %d is not one of %d bytes", id, width)
	}
	return appendUint(make([]byte, 0, width), uint64(id), width), nil
}

// EncodeCounter gives the value of a counter: 8 bytes, as HBase increments it.
func EncodeCounter(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// DecodeCounter is the inverse of EncodeCounter.
func DecodeCounter(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("counter %X: want 8 bytes, have %d", Clip(b), len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}
