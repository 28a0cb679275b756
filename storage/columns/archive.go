package columns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The coarse archives of Graphite's series have a table of their own, whose rows have keys like those of
// the data table. A row is ArchiveSlots slots of a step; its cell has those that hold a value:
//
//	qualifier = 83 step(4, seconds)
//	value     = 01 columns   (two slots or more: columns.go, the numbers of the slots being the offsets)
//	          | 02 slot(uvarint) float(8)
//
// Any float but NaN is a value. Rows of two steps may have one key.

// ArchiveSlots is the number of slots of a row.
const ArchiveSlots = 2048

// archivePrefix begins the qualifiers of archives.
const archivePrefix = 0x83

// The first bytes of values.
const (
	archiveColumns = 1
	archiveSingle  = 2
)

// ErrArchive means that bytes are no cell of an archive.
var ErrArchive = errors.New("damaged cell of an archive")

// ArchiveBase returns the base time of the row of a time, both in seconds. The step is above 0.
func ArchiveBase(t, step uint32) uint32 {
	return uint32(uint64(t) - uint64(t)%(uint64(step)*ArchiveSlots))
}

// ArchiveQualifier returns the qualifier of a step, in seconds.
func ArchiveQualifier(step uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{archivePrefix}, step)
}

// ArchiveStep returns the step of a qualifier.
func ArchiveStep(qualifier []byte) (step uint32, ok bool) {
	if len(qualifier) != 5 || qualifier[0] != archivePrefix {
		return 0, false
	}
	step = binary.BigEndian.Uint32(qualifier[1:])
	return step, step > 0
}

// AppendArchive appends the value of a cell: one of some slots of the row that begins at base, ascending, at least one,
// of which times (seconds) are the begins.
func (e *Encoder) AppendArchive(dst []byte, times []int64, values []float64, base, step uint32) []byte {
	if len(times) == 1 {
		dst = binary.AppendUvarint(append(dst, archiveSingle), uint64(times[0]-int64(base))/uint64(step))
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(values[0]))
	}
	c := &e.points
	c.offsets, c.flags = sized(c.offsets, len(times)), append(c.flags[:0], schema.FlagsFloat8)
	for i, t := range times {
		c.offsets[i] = (t - int64(base)) / int64(step)
	}
	c.floats = append(c.floats[:0], values...)
	c.millis, c.firstMillis, c.integers, c.sameFlags = 0, false, 0, true
	dst, _ = e.append(append(dst, archiveColumns), math.MaxInt)
	return dst
}

// AppendArchive appends the begins, in seconds, and the values of the slots of a cell, ascending. An error is an
// ErrArchive, and leaves times and values as they were.
func (d *Decoder) AppendArchive(times []int64, values []float64, value []byte, base, step uint32) ([]int64, []float64, error) {
	at := len(times)
	broken := func() ([]int64, []float64, error) {
		return times[:at], values[:at], fmt.Errorf("%w: %d bytes %X", ErrArchive, len(value), schema.Clip(value))
	}
	if len(value) == 0 {
		return broken()
	}
	switch body := value[1:]; value[0] {
	case archiveSingle:
		slot, n := binary.Uvarint(body)
		if n <= 0 || len(body) != n+8 {
			return broken()
		}
		times, values = append(times, int64(slot)*1000), append(values, math.Float64frombits(binary.BigEndian.Uint64(body[n:])))
	case archiveColumns:
		if n := Count(body); n < 2 || n > ArchiveSlots {
			return broken()
		}
		var err error
		if times, values, _, err = d.AppendColumns(times, values, body, 0); err != nil {
			return broken()
		}
	default:
		return broken()
	}
	before := int64(-1)
	for i, t := range times[at:] {
		slot := t / 1000
		if slot <= before || slot >= ArchiveSlots || t != slot*1000 || math.IsNaN(values[at+i]) {
			return broken()
		}
		before = slot
		times[at+i] = int64(base) + slot*int64(step)
	}
	return times, values, nil
}
