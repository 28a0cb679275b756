package schema

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A SimpleHistogram is OpenTSDB's histogram of one instant: how often values fell between two bounds.
// Buckets ascend by their bounds, each pair once, in the order of Java's Float.compare.
type SimpleHistogram struct {
	Buckets             []HistogramBucket
	Underflow, Overflow int64 // how often values were below and above all buckets
}

// A HistogramBucket is how often values fell between two bounds.
type HistogramBucket struct {
	Lower, Upper float32
	Count        int64
}

// MaxHistogramBuckets is the greatest number of buckets: they are counted in an int16.
const MaxHistogramBuckets = math.MaxInt16

// minHistogram is the least length of an encoded histogram that a TSD reads.
const minHistogram = 6

// Normalize orders the buckets. Of several with the same bounds the last one stays, as in OpenTSDB's
// TreeMap.
func (h *SimpleHistogram) Normalize() {
	for i := range h.Buckets {
		b := &h.Buckets[i]
		b.Lower, b.Upper = canonical(b.Lower), canonical(b.Upper)
	}
	slices.SortStableFunc(h.Buckets, HistogramBucket.Compare)
	kept := h.Buckets[:0]
	for _, b := range h.Buckets {
		if n := len(kept); n > 0 && b.Compare(kept[n-1]) == 0 {
			kept[n-1].Count = b.Count
			continue
		}
		kept = append(kept, b)
	}
	h.Buckets = kept
}

// canonical returns the one NaN of Java's Float.floatToIntBits for all of them.
func canonical(f float32) float32 {
	if f != f {
		return math.Float32frombits(0x7fc00000)
	}
	return f
}

// Compare returns the order of two buckets: that of their bounds.
func (b HistogramBucket) Compare(other HistogramBucket) int {
	return cmp.Or(compareFloats(b.Lower, other.Lower), compareFloats(b.Upper, other.Upper))
}

// compareFloats is Java's Float.compare: -0 is less than 0, and NaN is the greatest.
func compareFloats(a, b float32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return cmp.Compare(int32(math.Float32bits(canonical(a))), int32(math.Float32bits(canonical(b))))
}

// AppendTo appends the histogram as OpenTSDB 2.4 SimpleHistogram.histogram writes it, without the id of
// a codec. It must be normalized, and have at most MaxHistogramBuckets.
func (h *SimpleHistogram) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(h.Buckets)))
	for _, b := range h.Buckets {
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(b.Lower))
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(b.Upper))
		dst = appendCount(dst, b.Count)
	}
	return appendCount(appendCount(dst, h.Underflow), h.Overflow)
}

// maxCountBytes is the length of the longest count: its last byte has 8 bits of it.
const maxCountBytes = 9

// appendCount appends a long as Kryo's Output.writeLong does with optimizePositive: 7 bits a byte, the
// lowest first.
func appendCount(dst []byte, count int64) []byte {
	v := uint64(count)
	for range maxCountBytes - 1 {
		if v < 0x80 {
			return append(dst, byte(v))
		}
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// cutCount reads a count; n is 0 if b does not contain all of it.
func cutCount(b []byte) (count int64, n int) {
	v := uint64(0)
	for n < len(b) && n < maxCountBytes {
		c := b[n]
		if n == maxCountBytes-1 {
			return int64(v | uint64(c)<<(7*n)), n + 1
		}
		v |= uint64(c&0x7f) << (7 * n)
		if n++; c < 0x80 {
			return int64(v), n
		}
	}
	return 0, 0
}

// Errors of ParseSimpleHistogram.
var (
	ErrShortHistogram = fmt.Errorf("histogram of less than %d bytes", minHistogram)
	errCutHistogram   = errors.New("histogram ends too early")
)

// ParseSimpleHistogram reads an encoded histogram without the id of its codec. As a TSD it reads over
// what follows, puts buckets in order, and takes a negative number of buckets for none.
func ParseSimpleHistogram(b []byte) (h SimpleHistogram, err error) {
	if len(b) < minHistogram {
		return h, ErrShortHistogram
	}
	return parseHistogram(b)
}

const boundBytes = 8 // of a bucket

func parseHistogram(b []byte) (h SimpleHistogram, err error) {
	if len(b) < 2 {
		return h, errCutHistogram
	}
	buckets := int(int16(binary.BigEndian.Uint16(b)))
	b = b[2:]
	if least := boundBytes + 1; buckets > len(b)/least {
		return h, errCutHistogram
	}
	h.Buckets = make([]HistogramBucket, 0, max(buckets, 0))
	for range buckets {
		if len(b) < boundBytes {
			return h, errCutHistogram
		}
		bucket := HistogramBucket{
			Lower: math.Float32frombits(binary.BigEndian.Uint32(b)), Upper: math.Float32frombits(binary.BigEndian.Uint32(b[4:])),
		}
		count, n := cutCount(b[boundBytes:])
		if n == 0 {
			return h, errCutHistogram
		}
		bucket.Count, b = count, b[boundBytes+n:]
		h.Buckets = append(h.Buckets, bucket)
	}
	h.Normalize()
	for _, c := range []*int64{&h.Underflow, &h.Overflow} {
		count, n := cutCount(b)
		if n == 0 {
			return h, errCutHistogram
		}
		*c, b = count, b[n:]
	}
	return h, nil
}

// ParseStoredHistogram reads the value of a cell of a histogram: the id of its codec, and what that has
// written. As a TSD it reads none of less than 6 bytes, which are those without buckets and with small counts,
// and none of another codec.
func ParseStoredHistogram(value []byte, codec byte) (h SimpleHistogram, err error) {
	switch {
	case len(value) < minHistogram:
		return h, ErrShortHistogram
	case value[0] != codec:
		return h, fmt.Errorf("histogram of codec %d, which is not known", value[0])
	}
	return parseHistogram(value[1:])
}

// HistogramCell returns where the histogram of a time (milliseconds) is: the base time of its row, and its
// qualifier. Milliseconds means that the time was given in them: then a whole second has a qualifier of
// milliseconds too (OpenTSDB 2.4 Internal.getQualifier), and there may be two histograms of one instant.
func HistogramCell(time int64, milliseconds bool) (base uint32, qualifier []byte) {
	offset := Offset(time)
	if milliseconds || time%1000 != 0 {
		return Base(time), binary.BigEndian.AppendUint32([]byte{prefixHistogram}, offset)
	}
	return Base(time), binary.BigEndian.AppendUint16([]byte{prefixHistogram}, uint16(offset/1000))
}
