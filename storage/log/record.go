package log

import (
	"encoding/binary"
	"hash/crc32"
)

// recordHeader is the bytes before each payload (README.md).
const recordHeader = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header precedes a payload.
type header struct {
	length  uint32 // bytes of the payload, never 0: a run of zeros is not a record
	back    uint32 // bytes since the first record of the group
	payload uint32 // CRC-32C of the payload
}

// appendTo writes the header of a record at a position. The sum over segment and offset, which are
// not written, is what keeps the leftovers of a reused file from being read as records.
func (h header) appendTo(b []byte, at Position) []byte {
	b = binary.BigEndian.AppendUint32(b, h.length)
	b = binary.BigEndian.AppendUint32(b, h.back)
	b = binary.BigEndian.AppendUint32(b, h.payload)
	return binary.BigEndian.AppendUint32(b, headerSum(b[len(b)-12:], at))
}

// parseHeader reads the header at a position; false means that there is none.
func parseHeader(b []byte, at Position) (header, bool) {
	h := header{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
	return h, h.length > 0 && binary.BigEndian.Uint32(b[12:]) == headerSum(b[:12], at)
}

func headerSum(first []byte, at Position) uint32 {
	return sumNumber(sumNumber(crc32.Checksum(first, castagnoli), at.Segment), uint64(at.Offset))
}

// sumNumber continues a sum over eight more bytes, like crc32.Update. With that function the bytes
// would escape to the heap: an allocation for each record.
func sumNumber(sum uint32, n uint64) uint32 {
	sum = ^sum
	for shift := 56; shift >= 0; shift -= 8 {
		sum = castagnoli[byte(sum)^byte(n>>shift)] ^ sum>>8
	}
	return ^sum
}

// measure returns the length and the sum of a payload that comes in parts.
func measure(parts [][]byte) (length int64, sum uint32) {
	for _, part := range parts {
		length += int64(len(part))
		sum = crc32.Update(sum, castagnoli, part)
	}
	return length, sum
}
