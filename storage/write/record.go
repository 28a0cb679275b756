package write

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
)

// A record of the log is one append: columns of points, then objects. Records name series by the
// numbers of the log (see seriesNumbers). Numbers and times are zigzag varints of the difference to
// the entry before:
//
//	version 1 | points | objects |  (number, time) … | values, 8 bytes each | (number, time, kind, points before it, length, data) …
//
// With recordNumbers in the version, the count of the series that the record numbers follows, and
// for each of them (number, length of the TSUID, TSUID). A record numbers each of its series whose
// number may not be on the disk yet, so that one sync makes numbers and points durable.
//
// Version 2 has a bit for each value after the values, the lowest of a byte first: it is an
// integer. Version 3 has a second such list after the first: it is a float of FormDouble. Version 4
// has a third: it came in milliseconds (FormMillis). With recordTimed in the version, the time of
// the acknowledgement in milliseconds follows as a varint: of two values of one instant in a shared
// table, the one that was acknowledged later stays; it precedes the numbers. A point of a request
// in the usual order takes 10 bytes.
const (
	recordVersion         = 1
	recordVersionIntegers = 2
	recordVersionForms    = 3
	recordVersionUnits    = 4

	recordTimed   = 0x80
	recordNumbers = 0x40
)

// errRecord is a record that no version of ours wrote.
var errRecord = errors.New("broken record")

// appendRecord appends the record of a batch that is acknowledged at a time, 0: that is not kept.
// fresh are the series that the record numbers. byID has the number of each series by its id, all
// of them.
func appendRecord(dst []byte, b *storage.Batch, fresh []numbered, byID []number, acknowledged int64) []byte {
	version := recordVersionOf(b)
	dst = appendRecordHead(dst, version, fresh, acknowledged)
	dst = binary.AppendUvarint(dst, uint64(len(b.Refs)))
	dst = binary.AppendUvarint(dst, uint64(len(b.Objects)))
	var number, time int64
	for i, ref := range b.Refs {
		n, t := byID[index.IDOf(ref)].value(), b.Times[i]
		dst = appendDelta(appendDelta(dst, n-number), t-time)
		number, time = n, t
	}
	for _, v := range b.Values {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	if version >= recordVersionIntegers {
		dst = appendBits(dst, b.Forms, ^storage.FormMillis, storage.FormInteger)
	}
	if version >= recordVersionForms {
		dst = appendBits(dst, b.Forms, ^storage.FormMillis, storage.FormDouble)
	}
	if version >= recordVersionUnits {
		dst = appendBits(dst, b.Forms, storage.FormMillis, storage.FormMillis)
	}
	for i := range b.Objects {
		o := &b.Objects[i]
		n := byID[index.IDOf(o.Ref)].value()
		dst = appendDelta(appendDelta(dst, n-number), o.Time-time)
		number, time = n, o.Time
		dst = binary.AppendUvarint(append(dst, byte(o.Kind)), uint64(o.After()))
		dst = append(binary.AppendUvarint(dst, uint64(len(o.Data))), o.Data...)
	}
	return dst
}

// appendRecordHead appends what precedes the points.
func appendRecordHead(dst []byte, version byte, fresh []numbered, acknowledged int64) []byte {
	if acknowledged > 0 {
		version |= recordTimed
	}
	if len(fresh) > 0 {
		version |= recordNumbers
	}
	dst = append(dst, version)
	if acknowledged > 0 {
		dst = binary.AppendUvarint(dst, uint64(acknowledged))
	}
	if len(fresh) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(fresh)))
	last := int64(0)
	for _, f := range fresh {
		dst = appendDelta(dst, int64(f.number)-last)
		dst = append(binary.AppendUvarint(dst, uint64(len(f.tsuid))), f.tsuid...)
		last = int64(f.number)
	}
	return dst
}

// recordVersionOf is the first version that holds the batch.
func recordVersionOf(b *storage.Batch) byte {
	if len(b.Forms) == 0 {
		return recordVersion
	}
	version := byte(recordVersionIntegers)
	for _, f := range b.Forms {
		switch {
		case f.Millis():
			return recordVersionUnits
		case f == storage.FormDouble:
			version = recordVersionForms
		}
	}
	return version
}

// appendBits appends a bit for each of a list: of the bits of mask it has those of form.
func appendBits(dst []byte, list []storage.Form, mask, form storage.Form) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, (len(list)+7)/8)...)
	for i, f := range list {
		if f&mask == form {
			dst[at+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

// appendDelta is binary.AppendVarint with a short way for small numbers.
func appendDelta(dst []byte, v int64) []byte {
	if u := uint64(v<<1) ^ uint64(v>>63); u < 0x80 {
		return append(dst, byte(u))
	}
	return binary.AppendVarint(dst, v)
}

// recordSeries are the series of a log's records.
type recordSeries interface {
	// note takes the number that a record gives a series. The TSUID is valid until it returns.
	note(number uint32, tsuid []byte) error
	// ref returns the series of a number, 0 when there is none.
	ref(number uint32) storage.Ref
}

// parseRecord appends the points and objects of a record to a batch, and returns when it was
// acknowledged; 0: the record does not contain that. Objects keep no memory of the record.
func parseRecord(b *storage.Batch, record []byte, of recordSeries) (acknowledged int64, err error) {
	r := recordReader{rest: record}
	version, acknowledged, err := r.head(of.note)
	if err != nil {
		return 0, err
	}
	points, objects := r.count(), r.count()
	for range points {
		ref, time := r.entry(of.ref)
		b.Refs, b.Times = append(b.Refs, ref), append(b.Times, time)
	}
	for range points {
		b.Values = append(b.Values, math.Float64frombits(r.uint64()))
	}
	b.Forms = nil
	if version >= recordVersionIntegers {
		b.Forms = make([]storage.Form, points)
		r.forms(b.Forms, 0, storage.FormInteger)
	}
	if version >= recordVersionForms {
		r.forms(b.Forms, 0, storage.FormDouble)
	}
	if version >= recordVersionUnits {
		r.forms(b.Forms, ^storage.FormMillis, storage.FormMillis)
	}
	for range objects {
		ref, time := r.entry(of.ref)
		kind, after := storage.Kind(r.byte()), int(r.uvarint())
		b.AddObjectAfter(after, ref, time, kind, append([]byte(nil), r.bytes(r.uvarint())...))
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%w: %d bytes too many", errRecord, len(r.rest))
	}
	return acknowledged, r.err
}

// recordReader takes a record apart. After an error it gives zeros.
type recordReader struct {
	rest         []byte
	number, time int64
	err          error
}

// head reads what precedes the points, and calls note for each series that the record numbers.
func (r *recordReader) head(note func(number uint32, tsuid []byte) error) (version byte, acknowledged int64, err error) {
	flags := r.byte()
	version = flags &^ (recordTimed | recordNumbers)
	if version < recordVersion || version > recordVersionUnits {
		return 0, 0, fmt.Errorf("%w: version %d", errRecord, flags)
	}
	if flags&recordTimed != 0 {
		acknowledged = int64(min(r.uvarint(), math.MaxInt64))
	}
	if flags&recordNumbers == 0 {
		return version, acknowledged, r.err
	}
	last := int64(0)
	for range r.count() {
		last += r.delta()
		tsuid := r.bytes(r.uvarint())
		if last < 0 || last >= mostNumbers {
			r.fail()
		}
		if r.err != nil {
			break
		}
		if err := note(uint32(last), tsuid); err != nil {
			return version, acknowledged, err
		}
	}
	return version, acknowledged, r.err
}

func (r *recordReader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: it ends too early, or a number is out of bounds", errRecord)
	}
	r.rest = nil
}

func (r *recordReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// forms reads a bit for each of a list, and gives those that have it the form; of what they are it
// keeps the bits of a mask.
func (r *recordReader) forms(list []storage.Form, keep, form storage.Form) {
	bits := r.bytes(uint64(len(list)+7) / 8)
	for i := range list {
		if i/8 < len(bits) && bits[i/8]>>(i%8)&1 != 0 {
			list[i] = list[i]&keep | form
		}
	}
}

func (r *recordReader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *recordReader) uint64() uint64 {
	if b := r.bytes(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads how many entries follow; each takes some bytes.
func (r *recordReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *recordReader) delta() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// entry reads the series and time of a point or an object.
func (r *recordReader) entry(refs func(number uint32) storage.Ref) (storage.Ref, int64) {
	r.number += r.delta()
	r.time += r.delta()
	if r.err != nil {
		return 0, 0
	}
	if r.number < 0 || r.number > math.MaxUint32 || r.time < 0 || r.time > storage.MaxTime {
		r.fail()
		return 0, 0
	}
	ref := refs(uint32(r.number))
	if ref == 0 && r.err == nil {
		r.err = fmt.Errorf("%w: nobody knows series %d", errRecord, r.number)
	}
	return ref, r.time
}
