package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"
)

// The names of files: 16 hexadecimal digits and one of these.
const (
	suffixLog   = ".log"   // a segment
	suffixNew   = ".new"   // a segment in the making: of no use after a crash
	suffixSpare = ".spare" // an emptied segment, kept for its blocks
	lockName    = "LOCK"
)

const (
	segmentMagic   = "tsdb log"
	segmentVersion = 1
	segmentHeader  = 64 // bytes before the first record
)

// segment is one file of the log.
type segment struct {
	number uint64
	// the end of the segment before it, as its header contains it; zero if it is the first
	before Position
	end    int64 // bytes that hold header and good records
	size   int64 // bytes that the file takes
	owner  Owner
	file   File // nil unless it is the active one
	ruined bool // the disk failed here: not to be written again

	retiring bool // its records are not needed any more
}

func (s *segment) endPosition() Position { return Position{s.number, s.end} }

func (s *segment) empty() bool { return s.end == segmentHeader }

func fileName(number uint64, suffix string) string { return fmt.Sprintf("%016x%s", number, suffix) }

// parseFileName returns the number in a name; false for a file that is not ours.
func parseFileName(name string) (number uint64, suffix string, ok bool) {
	digits, suffix := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
	if len(digits) != 16 || suffix != suffixLog && suffix != suffixNew && suffix != suffixSpare {
		return 0, "", false
	}
	number, err := strconv.ParseUint(digits, 16, 64)
	return number, suffix, err == nil && number > 0 && fileName(number, suffix) == name
}

// segmentHead returns the first bytes of a segment. Versions before owners wrote zeros there, and read
// over it.
func segmentHead(number uint64, before Position, owner Owner) []byte {
	b := []byte(segmentMagic)
	b = binary.BigEndian.AppendUint32(b, segmentVersion)
	b = binary.BigEndian.AppendUint64(b, number)
	b = binary.BigEndian.AppendUint64(b, before.Segment)
	b = binary.BigEndian.AppendUint64(b, uint64(before.Offset))
	b = owner.appendTo(b)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// What parseSegmentHeader finds wrong.
var (
	errNoSegment = errors.New("no header of a segment")
	errVersion   = errors.New("a format of another version")
)

// parseSegmentHeader is the inverse of segmentHead. Length and sum of the header are the
// same in all versions.
func parseSegmentHeader(b []byte) (s *segment, err error) {
	if len(b) < segmentHeader || string(b[:8]) != segmentMagic {
		return nil, errNoSegment
	}
	if crc32.Checksum(b[:segmentHeader-4], castagnoli) != binary.BigEndian.Uint32(b[segmentHeader-4:]) {
		return nil, errNoSegment
	}
	if version := binary.BigEndian.Uint32(b[8:]); version != segmentVersion {
		return nil, fmt.Errorf("%w: %d, this is for %d", errVersion, version, segmentVersion)
	}
	s = &segment{number: binary.BigEndian.Uint64(b[12:]), end: segmentHeader, owner: parseOwner(b[36:])}
	s.before = Position{binary.BigEndian.Uint64(b[20:]), int64(binary.BigEndian.Uint64(b[28:]))}
	if s.number <= s.before.Segment || s.before.Offset < 0 {
		return nil, errNoSegment
	}
	return s, nil
}
