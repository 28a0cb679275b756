package hbase

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// The types of a KeyValue (org.apache.hadoop.hbase.KeyValue.Type).
const (
	typePut                 = 4
	typeDelete              = 8 // of one version
	typeDeleteFamilyVersion = 10
	typeDeleteColumn        = 12
	typeDeleteFamily        = 14
)

// latest means "when the server writes it" (HConstants.LATEST_TIMESTAMP).
const latest = math.MaxInt64

// appendCell appends a cell in the layout of KeyValueCodec, all numbers big-endian; time 0 is the
// server's clock:
//
//	4 length of the rest | 4 length of the key | 4 length of the value
//	2 length of the row | row | 1 length of the family | family | qualifier | 8 time in ms | 1 type
//	value
func appendCell(dst, row []byte, family string, qualifier, value []byte, time int64, kind byte) []byte {
	key := 2 + len(row) + 1 + len(family) + len(qualifier) + 8 + 1
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4+key+len(value)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(family)))
	dst = append(dst, family...)
	dst = append(dst, qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(cmp.Or(time, latest)))
	dst = append(dst, kind)
	return append(dst, value...)
}

// minCell is the size of a cell without row, family, qualifier and value.
const minCell = 4 + 4 + 4 + 2 + 1 + 8 + 1

// cellSize returns the number of bytes that appendCell appends.
func cellSize(row []byte, family string, qualifier, value []byte) int {
	return minCell + len(row) + len(family) + len(qualifier) + len(value)
}

// keyOf returns the row key of the first of some cells that appendCell has made.
func keyOf(cells []byte) []byte {
	const before = 4 + 4 + 4
	n := int(binary.BigEndian.Uint16(cells[before:]))
	return cells[before+2:][:n:n]
}

// A cell is a view of one cell in the bytes of an answer.
type cell struct {
	row, qualifier, value []byte
	time                  int64
	kind                  byte
}

var errBadCell = errors.New("malformed cell in the answer")

// parseCell reads the first cell of b and returns what follows it.
func parseCell(b []byte) (c cell, rest []byte, err error) {
	const lengths = 4 + 4 + 4
	if len(b) < lengths {
		return cell{}, nil, fmt.Errorf("%w: %d bytes left", errBadCell, len(b))
	}
	total := int(binary.BigEndian.Uint32(b))
	key, value := int(binary.BigEndian.Uint32(b[4:])), int(binary.BigEndian.Uint32(b[8:]))
	if total > len(b)-4 || key+value+8 != total {
		return cell{}, nil, fmt.Errorf("%w: lengths %d, %d, %d in %d bytes", errBadCell, total, key, value, len(b))
	}
	k := b[lengths : lengths+key]
	c.value, rest = b[lengths+key:4+total], b[4+total:]

	const fixed = 2 + 1 + 8 + 1
	if len(k) < fixed {
		return cell{}, nil, fmt.Errorf("%w: key of %d bytes", errBadCell, len(k))
	}
	row := int(binary.BigEndian.Uint16(k))
	if len(k) < fixed+row {
		return cell{}, nil, fmt.Errorf("%w: row of %d bytes in a key of %d", errBadCell, row, len(k))
	}
	family := int(k[2+row])
	if len(k) < fixed+row+family {
		return cell{}, nil, fmt.Errorf("%w: family of %d bytes in a key of %d", errBadCell, family, len(k))
	}
	c.row = k[2 : 2+row]
	c.qualifier = k[2+row+1+family : len(k)-9]
	c.time = int64(binary.BigEndian.Uint64(k[len(k)-9:]))
	c.kind = k[len(k)-1]
	return c, rest, nil
}

// parseCells reads n cells of one row.
func parseCells(dst []cell, b []byte, n int) (cells []cell, rest []byte, err error) {
	cells = slices.Grow(dst, min(n, len(b)/minCell))
	for range n {
		var c cell
		if c, b, err = parseCell(b); err != nil {
			return nil, nil, err
		}
		if len(cells) > 0 && !bytes.Equal(c.row, cells[0].row) {
			return nil, nil, fmt.Errorf("%w: rows %x and %x in one result", errBadCell, cells[0].row, c.row)
		}
		cells = append(cells, c)
	}
	return cells, b, nil
}

// appendStored appends cells in the memory of the answer that contains them.
func appendStored(dst []kv.StoredCell, cells []cell) []kv.StoredCell {
	for i := range cells {
		c := &cells[i]
		dst = append(dst, kv.StoredCell{Qualifier: c.qualifier, Value: c.value, Time: c.time})
	}
	return dst
}

// copyCells copies cells out of an answer, so that keeping one of them does not keep the megabytes
// of the answer.
func copyCells(cells []cell) []kv.Cell {
	if len(cells) == 0 {
		return nil
	}
	size := 0
	for i := range cells {
		size += len(cells[i].qualifier) + len(cells[i].value)
	}
	buf := make([]byte, 0, size)
	keep := func(b []byte) []byte {
		at := len(buf)
		buf = append(buf, b...)
		return buf[at:len(buf):len(buf)]
	}
	out := make([]kv.Cell, len(cells))
	for i := range cells {
		out[i] = kv.Cell{Qualifier: keep(cells[i].qualifier), Value: keep(cells[i].value), Time: cells[i].time}
	}
	return out
}
