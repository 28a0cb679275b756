package own

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// objectFormat is the first byte of the value of an object cell: the version of what follows.
const objectFormat = 0x01

// An Object is a datum that OpenTSDB has no place for.
type Object struct {
	Offset uint32 // milliseconds in the hour
	Kind   storage.Kind
	Data   []byte
}

// FloatObject returns the object of a float at an offset in milliseconds. All bits are kept.
func FloatObject(offset uint32, v float64) Object {
	return Object{Offset: offset, Kind: storage.KindFloat, Data: binary.BigEndian.AppendUint64(nil, math.Float64bits(v))}
}

// Float returns the value of an ObjectFloat, bit for bit.
func (o Object) Float() (float64, error) {
	if o.Kind != storage.KindFloat || len(o.Data) != 8 {
		return 0, fmt.Errorf("object of kind %d with %d bytes: not a float", o.Kind, len(o.Data))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(o.Data)), nil
}

// AppendObjectCell appends the qualifier and the value of one cell that holds all the objects,
// sorting them in place by Offset, Kind and Data; nothing of none. The qualifier is the place of
// the first: of two cells of a row that begin at one instant the later put replaces the earlier.
func AppendObjectCell(q, v []byte, objects []Object) (qualifier, value []byte) {
	if len(objects) == 0 {
		return q, v
	}
	slices.SortFunc(objects, compareObjects)
	q = appendObjectQualifier(q, objects[0].Offset)
	v = append(v, objectFormat)
	last := uint32(0)
	for _, o := range objects {
		v = binary.AppendUvarint(v, uint64(o.Offset-last))
		v = append(v, byte(o.Kind))
		v = binary.AppendUvarint(v, uint64(len(o.Data)))
		v = append(v, o.Data...)
		last = o.Offset
	}
	return q, v
}

func compareObjects(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.Data, b.Data))
}

// appendObjectQualifier appends 3 or 5 bytes, never more: OpenTSDB's fsck deletes other lengths.
// The offset is a plain number without flags, as in OpenTSDB's annotations.
func appendObjectQualifier(q []byte, offset uint32) []byte {
	q = append(q, schema.PrefixObject)
	if offset%1000 == 0 {
		return binary.BigEndian.AppendUint16(q, uint16(offset/1000))
	}
	return binary.BigEndian.AppendUint32(q, offset)
}

// DecodeObjects appends the objects of an object cell; their Data points into value. The value is
// complete, so an offset in the qualifier that differs is not an error. Objects of unknown kinds
// are returned as they are. After an error dst is as it was.
func DecodeObjects(dst []Object, qualifier, value []byte) ([]Object, error) {
	if schema.ClassifyCell(qualifier) != schema.CellObject {
		return dst, fmt.Errorf("object cell %X: not the qualifier of objects", schema.Clip(qualifier))
	}
	if len(value) == 0 || value[0] != objectFormat {
		return dst, fmt.Errorf("object cell %X: value %X has no known format", qualifier, schema.Clip(value))
	}
	start, offset := len(dst), uint64(0)
	for rest := value[1:]; len(rest) > 0; {
		o, n := cutObject(rest, offset)
		if n == 0 {
			return dst[:start], fmt.Errorf("object cell %X: no object at byte %d of %d", qualifier, len(value)-len(rest), len(value))
		}
		dst = append(dst, o)
		offset, rest = uint64(o.Offset), rest[n:]
	}
	return dst, nil
}

// cutObject reads the first object of b, whose offset counts from the one before, and returns how
// many bytes it took: 0 when b holds no object there.
func cutObject(b []byte, before uint64) (Object, int) {
	delta, at := binary.Uvarint(b)
	if at <= 0 || delta >= schema.RowMillis || before+delta >= schema.RowMillis || at == len(b) {
		return Object{}, 0
	}
	kind := storage.Kind(b[at])
	at++
	length, n := binary.Uvarint(b[at:])
	at += n
	if n <= 0 || length > uint64(len(b)-at) {
		return Object{}, 0
	}
	end := at + int(length)
	return Object{Offset: uint32(before + delta), Kind: kind, Data: b[at:end:end]}, end
}
