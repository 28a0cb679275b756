package relay

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/golang/snappy"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
)

// A record of the spool is
//
//	version   1 byte, 1
//	time      8 bytes, the highest first: when its first point came, milliseconds since the epoch
//	points    compressed by snappy, as a block
//
// and a point, before it is compressed,
//
//	name      its length as an unsigned varint, and its bytes
//	time      an unsigned varint, seconds since the epoch
//	value     8 bytes of a float, the highest first
const (
	recordVersion = 1
	recordHead    = 9
	// recordPoints is how many bytes of points are put into a record, about.
	recordPoints = 256 << 10
	// mostPoints bounds the bytes of points of a record that is read.
	mostPoints = recordPoints + carbon.MaxLine + 64
)

var errRecord = errors.New("a record of the spool is not one of this version")

func appendPoint(b []byte, p carbon.Point) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(p.Name))), p.Name...)
	b = binary.AppendUvarint(b, uint64(p.Time))
	return binary.BigEndian.AppendUint64(b, math.Float64bits(p.Value))
}

// cutPoint reads the point that b begins with, and returns the rest. Its name is a part of b.
func cutPoint(b []byte) (p carbon.Point, rest []byte, err error) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length == 0 || length > uint64(len(b)-n) {
		return p, nil, errRecord
	}
	p.Name, b = b[n:][:length:length], b[n+int(length):] //nolint:gosec // not above the length of b
	time, n := binary.Uvarint(b)
	if n <= 0 || time > carbon.MaxTime || len(b) < n+8 {
		return p, nil, errRecord
	}
	p.Time, p.Value = int64(time), math.Float64frombits(binary.BigEndian.Uint64(b[n:])) //nolint:gosec // not above MaxTime
	return p, b[n+8:], nil
}

// appendRecord writes a record of points.
func appendRecord(b []byte, milliseconds int64, points []byte) []byte {
	b = append(b, recordVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(milliseconds)) //nolint:gosec // read back as it is
	at := len(b)
	b = append(b, make([]byte, snappy.MaxEncodedLen(len(points)))...)
	return b[:at+len(snappy.Encode(b[at:], points))]
}

// parseRecord returns the points of a record, in the given memory if it is large enough.
func parseRecord(memory, record []byte) (milliseconds int64, points []byte, err error) {
	if len(record) < recordHead || record[0] != recordVersion {
		return 0, nil, errRecord
	}
	if n, err := snappy.DecodedLen(record[recordHead:]); err != nil || n > mostPoints {
		return 0, nil, errRecord
	}
	points, err = snappy.Decode(memory[:cap(memory)], record[recordHead:])
	return int64(binary.BigEndian.Uint64(record[1:])), points, err //nolint:gosec // as it was written
}

// cutRecord cuts off so many points as one record takes, and returns how many.
func cutRecord(points []byte) (first, rest []byte, n int, err error) {
	for rest = points; len(rest) > 0 && len(points)-len(rest) < recordPoints; n++ {
		if _, rest, err = cutPoint(rest); err != nil {
			return nil, nil, 0, err
		}
	}
	return points[:len(points)-len(rest)], rest, n, nil
}
