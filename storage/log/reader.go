package log

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// errBroken means that the bytes at reader.offset are not a record: the end of a segment, a torn
// write, or damage.
var errBroken = errors.New("broken record")

// readAhead is how many bytes a reader takes from the file at once.
const readAhead = 256 << 10

// reader walks the records of one segment.
type reader struct {
	file   io.ReaderAt
	number uint64
	offset int64 // of the next record
	limit  int64 // records end here
	group  int64 // offset of the first record of the group of the last one

	buffer []byte
	start  int64 // offset of the buffer
}

func newReader(file io.ReaderAt, number uint64, limit int64) *reader {
	return &reader{file: file, number: number, offset: segmentHeader, limit: limit, group: segmentHeader}
}

// next returns a record and its offset: io.EOF at the limit, errBroken when there is none. The
// payload is valid until the next call.
func (r *reader) next() (int64, []byte, error) {
	if r.offset == r.limit {
		return 0, nil, io.EOF
	}
	h, payload, err := r.at(r.offset)
	if err != nil {
		return 0, nil, err
	}
	offset := r.offset
	switch int64(h.back) {
	case 0:
		r.group = offset
	case offset - r.group:
	default:
		return 0, nil, errBroken
	}
	r.offset += recordHeader + int64(h.length)
	return offset, payload, nil
}

// at returns the record at an offset, whole and with the right sums, or errBroken.
func (r *reader) at(offset int64) (header, []byte, error) {
	b, err := r.bytes(offset, recordHeader)
	if err != nil {
		return header{}, nil, err
	}
	h, ok := parseHeader(b, Position{r.number, offset})
	if !ok {
		return header{}, nil, errBroken
	}
	payload, err := r.bytes(offset+recordHeader, int64(h.length))
	if err != nil {
		return header{}, nil, err
	}
	if crc32.Checksum(payload, castagnoli) != h.payload {
		return header{}, nil, errBroken
	}
	return h, payload, nil
}

// bytes returns n bytes at an offset, or errBroken if they go over the limit.
func (r *reader) bytes(offset, n int64) ([]byte, error) {
	if n > r.limit-offset {
		return nil, errBroken
	}
	if offset < r.start || offset+n > r.start+int64(len(r.buffer)) {
		if err := r.fill(offset, max(n, min(readAhead, r.limit-offset))); err != nil {
			return nil, err
		}
	}
	return r.buffer[offset-r.start:][:n], nil
}

func (r *reader) fill(offset, n int64) error {
	if int64(cap(r.buffer)) < n {
		r.buffer = make([]byte, n)
	}
	r.buffer, r.start = r.buffer[:n], offset
	if _, err := io.ReadFull(io.NewSectionReader(r.file, offset, n), r.buffer); err != nil {
		r.buffer = r.buffer[:0]
		return err
	}
	return nil
}

// witness searches after a broken record for a record which proves that the broken one had been on
// the disk: one of a later group, because a group is written only when the one before it has been
// synced. It returns the offset of such a record. 0 means that the broken record is the rest of a
// write that was never confirmed, as a crash leaves it.
func (r *reader) witness(broken int64) (int64, error) {
	for from := broken + 1; r.limit-from > recordHeader; {
		b, err := r.bytes(from, min(readAhead, r.limit-from))
		if err != nil {
			return 0, err
		}
		i := r.candidate(b, from, broken)
		if i < 0 {
			from += int64(len(b) - recordHeader + 1)
			continue
		}
		switch _, _, err := r.at(from + int64(i)); {
		case err == nil:
			return from + int64(i), nil
		case !errors.Is(err, errBroken):
			return 0, err
		}
		from += int64(i) + 1
	}
	return 0, nil
}

// candidate returns where in b, bytes from an offset on, the first header of a later group is; -1
// if there is none. It runs over the whole rest of a segment after each crash, hence the plain
// loop.
func (r *reader) candidate(b []byte, offset, broken int64) int {
	most := uint32(min(r.limit-offset, longest))
	for i := 0; i+recordHeader <= len(b); i++ {
		first := binary.BigEndian.Uint64(b[i:])
		if first == 0 { // no length here, nor at the next four bytes
			i += 4
			continue
		}
		// 0 - 1 is the largest number
		if uint32(first>>32)-1 < most && r.later(b[i:], offset+int64(i), broken) {
			return i
		}
	}
	return -1
}

// later reports whether a header at an offset could be one of a group that begins after the broken
// record. It compares numbers only, which is cheap, before any checksum.
func (r *reader) later(b []byte, offset, broken int64) bool {
	length, back := int64(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))
	if length == 0 || length > r.limit-offset-recordHeader || offset-back <= broken {
		return false
	}
	_, ok := parseHeader(b[:recordHeader], Position{r.number, offset})
	return ok
}
