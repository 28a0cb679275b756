package own

import (
	"encoding/binary"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An Age is the time at which a sample of a row was acknowledged. A data cell has one time for all
// its points, the time that it was put with. Where points of one cell were acknowledged at
// different times, a cell of ages in the same row holds the time of each.
type Age struct {
	Offset uint32 // milliseconds in the hour
	Time   int64  // milliseconds since 1970
}

// The first byte of the value of a cell of ages: what the ages are of.
const (
	agesFormat   = 0x01 // points and objects of cells that were put with the stamp
	arrivalsAges = 0x02 // the first points of the append cell, all of them, in their order
)

// AppendAgesCell appends the qualifier and the value of the cell that holds the ages, in ascending
// order of their offsets, of samples in the data cells that were put with the time stamp
// (milliseconds). Cells of different stamps have different qualifiers, except for those whose lower
// 24 bits are the same.
func AppendAgesCell(q, v []byte, stamp int64, ages []Age) (qualifier, value []byte) {
	q = append(q, schema.PrefixObject, schema.AgesMark, byte(stamp>>16), byte(stamp>>8), byte(stamp))
	v = append(v, agesFormat)
	var offset, lag, step, drift int64
	for _, a := range ages {
		// A sender's samples come at a steady step and with a steady lag: what is stored is how
		// much both changes changed.
		nextStep, nextLag := int64(a.Offset)-offset, a.Time-int64(a.Offset)
		nextDrift := nextLag - lag
		turn := zigzag(nextDrift-drift) << 1
		if nextStep != step {
			turn |= 1
		}
		v = binary.AppendUvarint(v, turn)
		if nextStep != step {
			v = binary.AppendVarint(v, nextStep-step)
		}
		offset, lag, step, drift = int64(a.Offset), nextLag, nextStep, nextDrift
	}
	return q, v
}

// AppendArrivalAges is AppendAgesCell for the points of an append cell, which are in order. They keep
// their ages when a TSD appends to the cell, which gives it a later stamp.
func AppendArrivalAges(q, v []byte, stamp int64, ages []Age) (qualifier, value []byte) {
	start := len(v)
	q, v = AppendAgesCell(q, v, stamp, ages)
	v[start] = arrivalsAges
	return q, v
}

// OfArrivals reports whether a cell of ages with a value is one of AppendArrivalAges.
func OfArrivals(value []byte) bool { return len(value) > 0 && value[0] == arrivalsAges }

// DecodeAges appends the ages of a cell of ages. After an error dst is as it was.
func DecodeAges(dst []Age, qualifier, value []byte) ([]Age, error) {
	if schema.ClassifyCell(qualifier) != schema.CellAges {
		return dst, fmt.Errorf("cell of ages %X: not the qualifier of ages", schema.Clip(qualifier))
	}
	if len(value) == 0 || value[0] != agesFormat && value[0] != arrivalsAges {
		return dst, fmt.Errorf("cell of ages %X: value %X has no known format", qualifier, schema.Clip(value))
	}
	start := len(dst)
	var offset, lag, step, drift int64
	for rest := value[1:]; len(rest) > 0; {
		turn, n := binary.Uvarint(rest)
		if n > 0 && turn&1 != 0 {
			change, m := binary.Varint(rest[n:])
			step += change
			if n += m; m <= 0 {
				n = 0
			}
		}
		drift += unzigzag(turn >> 1)
		lag += drift
		offset += step
		if n <= 0 || offset < 0 || offset >= schema.RowMillis || len(dst) > start && step <= 0 {
			return dst[:start], fmt.Errorf("cell of ages %X: no age at byte %d of %d", qualifier, len(value)-len(rest), len(value))
		}
		dst = append(dst, Age{Offset: uint32(offset), Time: lag + offset})
		rest = rest[n:]
	}
	return dst, nil
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
