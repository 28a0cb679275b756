package adapter

import (
	"encoding/binary"
	"errors"
	"math"
)

// errWire says that a message is not protobuf of its type: cut off, or with a field of another wire type.
var errWire = errors.New("malformed protobuf")

// errTooMany says that a message holds more than one may.
var errTooMany = errors.New("request too large")

// The readers below take a message and a position in it and return the position behind what they read, or a negative one
// if the message is malformed. They accept what gogo's generated code accepts, no more and no less, so that a body is never answered
// otherwise than by Prometheus; see FuzzWalkV1. Numbers that do not fit are cut off, as there.

// readUvarint reads a varint of at most ten bytes.
func readUvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return readLongUvarint(b, i)
}

func readLongUvarint(b []byte, i int) (v uint64, next int) {
	for shift := 0; shift < 64 && i < len(b); shift += 7 {
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// readTag reads the head of a field.
func readTag(b []byte, i int) (field int32, wireType, next int) {
	tag, next := readUvarint(b, i)
	field, wireType = int32(tag>>3), int(tag&7)
	if next < 0 || field <= 0 || wireType == wireGroupClose {
		return 0, 0, -1
	}
	return field, wireType, next
}

// readNumber reads the value of a field of type int64, int32, uint32 or enum.
func readNumber(b []byte, i, wireType int) (v uint64, next int) {
	if wireType != wireVarint {
		return 0, -1
	}
	return readUvarint(b, i)
}

// readDouble reads the value of a field of type double.
func readDouble(b []byte, i, wireType int) (v float64, next int) {
	if wireType != wireFixed64 || len(b)-i < 8 {
		return 0, -1
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[i:])), i + 8
}

// readBytes reads the value of a field of type string, bytes or message.
func readBytes(b []byte, i, wireType int) (v []byte, next int) {
	if wireType != wireBytes {
		return nil, -1
	}
	n, i := readUvarint(b, i)
	if i < 0 || n > uint64(len(b)-i) {
		return nil, -1
	}
	next = i + int(n)
	return b[i:next:next], next
}

// skipField skips a field of no interest, from its tag on; a group with all that is in it.
func skipField(b []byte, i int) (next int) {
	for depth := 0; i >= 0 && i < len(b); {
		tag, v := readUvarint(b, i)
		if v < 0 {
			return -1
		}
		switch tag & 7 {
		case wireGroup:
			depth++
			i = v
		case wireGroupClose:
			depth--
			i = v
		default:
			i = skipValue(b, v, int(tag&7))
		}
		if depth < 0 {
			return -1
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

func skipValue(b []byte, i, wireType int) (next int) {
	switch wireType {
	case wireVarint:
		_, next = readUvarint(b, i)
		return next
	case wireBytes:
		_, next = readBytes(b, i, wireType)
		return next
	case wireFixed64:
		next = i + 8
	case wireFixed32:
		next = i + 4
	default:
		return -1
	}
	if next > len(b) {
		return -1
	}
	return next
}

// readUint32s appends a repeated uint32, packed or not. A packed one whose last number runs over its end is read on, as gogo does.
func readUint32s(dst []uint32, b []byte, i, wireType int) ([]uint32, int) {
	if wireType == wireVarint {
		v, next := readUvarint(b, i)
		return append(dst, uint32(v)), next
	}
	packed, end := readBytes(b, i, wireType)
	if end < 0 {
		return dst, -1
	}
	for i = end - len(packed); i >= 0 && i < end; {
		var v uint64
		v, i = readUvarint(b, i)
		dst = append(dst, uint32(v))
	}
	return dst, i
}

// wireRequest is a remote write request of either version as it was walked over: where things are in the body, in flat lists.
// It is valid as long as the body is.
type wireRequest struct {
	version    wireVersion
	series     []wireSeries
	samples    []wireSample
	histograms []wireHistogram
	exemplars  []wireExemplar
	metadata   []wireMetadata // 1.0; in 2.0 it is part of the series
	symbols    [][]byte       // 2.0
	// 2.0: references to symbols, of the labels of all series and of all exemplars.
	refs, exemplarRefs []uint32
	keys               []byte // 2.0: of series, see seriesKey
}

// wireVersion is a version of remote write.
type wireVersion byte

const (
	wireV1 wireVersion = iota
	wireV2
)

// wireSeries is one TimeSeries. Its samples are those of the request between the end of the series before and its own, and so on.
type wireSeries struct {
	block labelBlock // 1.0: the label fields
	refs  wireRange  // 2.0
	// Ends in the lists of the request.
	samples, histograms, exemplars int32
	meta                           wireSeriesMetadata // 2.0
}

// wireRange is [start, end) of a list.
type wireRange struct{ start, end int32 }

type wireSample struct {
	time, start int64 // milliseconds; start 0: none
	value       float64
}

type wireExemplar struct {
	block labelBlock // 1.0
	refs  wireRange  // 2.0
	time  int64
	value float64
}

// wireMetadata is a MetricMetadata of 1.0.
type wireMetadata struct {
	kind               int32
	family, help, unit []byte
}

// wireSeriesMetadata is a Metadata of 2.0.
type wireSeriesMetadata struct {
	kind       int32
	help, unit uint32 // references to symbols
}

// rawLabel is a label in the body.
type rawLabel struct{ name, value []byte }

// wireLimits bound what a walk may take; a message of empty messages takes many times its size.
type wireLimits struct{ series, data int }

// check is called for each new series and datum.
func (r *wireRequest) check(l wireLimits) error {
	if len(r.series) > l.series || len(r.samples)+len(r.exemplars)+len(r.metadata)+histogramWeight*len(r.histograms) > l.data {
		return errTooMany
	}
	return nil
}

// histogramWeight is how many samples a histogram counts for: it is some hundred bytes when it is empty.
const histogramWeight = 10

// reset empties the request and keeps its memory.
func (r *wireRequest) reset(v wireVersion) {
	clear(r.series)
	clear(r.histograms)
	clear(r.exemplars)
	clear(r.metadata)
	clear(r.symbols)
	*r = wireRequest{
		version: v, series: r.series[:0], samples: r.samples[:0], histograms: r.histograms[:0], exemplars: r.exemplars[:0],
		metadata: r.metadata[:0], symbols: r.symbols[:0], refs: r.refs[:0], exemplarRefs: r.exemplarRefs[:0], keys: r.keys[:0],
	}
}

// walk reads a body. After an error nothing of it may be used.
func (r *wireRequest) walk(body []byte, l wireLimits) error {
	if r.version == wireV2 {
		return r.walkV2(body, l)
	}
	return r.walkV1(body, l)
}

// endSeries notes that the last series has all its data.
func (r *wireRequest) endSeries() {
	s := &r.series[len(r.series)-1]
	s.samples, s.histograms, s.exemplars = int32(len(r.samples)), int32(len(r.histograms)), int32(len(r.exemplars))
}
