package write

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// Field numbers of a request. They differ between the two versions.
const (
	requestSeriesV1   = 1 // prometheus.WriteRequest
	requestMetadataV1 = 3
	requestSymbolsV2  = 4 // io.prometheus.write.v2.Request
	requestSeriesV2   = 5
)

// walk reads a body. After an error nothing of the message may be used.
func (r *message) walk(b []byte, l messageLimits) error {
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		if next < 0 {
			return wire.ErrMalformed
		}
		if !r.knows(field) {
			if i = wire.SkipField(b, i); i < 0 {
				return r.inSeries(wire.ErrMalformed)
			}
			continue
		}
		m, end := wire.ReadBytes(b, next, wireType)
		if end < 0 {
			return r.inSeries(wire.ErrMalformed)
		}
		i = end
		var err error
		switch field {
		case requestSeriesV1:
			err = r.walkSeriesV1(m, l)
		case requestSeriesV2:
			err = r.walkSeriesV2(m, l)
		case requestMetadataV1:
			err = r.walkMetadataV1(m, l)
		case requestSymbolsV2:
			if r.symbols = append(r.symbols, m); len(r.symbols) > l.data {
				err = errTooMany
			} else {
				err = r.check(l)
			}
		}
		if err != nil {
			return r.inSeries(err)
		}
	}
	return r.takeMemory(l)
}

// inSeries adds the number of the current series to an error.
func (r *message) inSeries(err error) error {
	return fmt.Errorf("time series %d: %w", len(r.series), err)
}

// knows reports whether the version of the request has a field.
func (r *message) knows(field int32) bool {
	if r.version == version2 {
		return field == requestSymbolsV2 || field == requestSeriesV2
	}
	return field == requestSeriesV1 || field == requestMetadataV1
}

// walkSample reads a prometheus.Sample, which is an io.prometheus.write.v2.Sample without
// start_timestamp (field 3).
func (r *message) walkSample(b []byte) error {
	if s, ok := usualSample(b); ok {
		r.samples = append(r.samples, s)
		return nil
	}
	return r.walkOddSample(b)
}

func (r *message) walkOddSample(b []byte) error {
	var s messageSample
	f := wire.FieldsOf(b)
	for f.Next() {
		switch {
		case f.Number == 1:
			s.value = f.Double()
		case f.Number == 2:
			s.time = int64(f.Uint())
		case f.Number == 3 && r.version == version2:
			s.start = int64(f.Uint())
		default:
			f.Skip()
		}
	}
	r.samples = append(r.samples, s)
	return f.Err()
}

// usualSample reads a sample that consists of a value and a time, in this order.
func usualSample(b []byte) (s messageSample, ok bool) {
	if len(b) < 11 || b[0] != 1<<3|wire.Fixed64 || b[9] != 2<<3|wire.Varint {
		return s, false
	}
	time, end := wire.ReadLongUvarint(b, 10)
	s.value, s.time = math.Float64frombits(binary.LittleEndian.Uint64(b[1:])), int64(time)
	return s, end == len(b)
}

// walkExemplar reads a prometheus.Exemplar or an io.prometheus.write.v2.Exemplar, which differ only
// in the labels.
func (r *message) walkExemplar(b []byte) error {
	e := messageExemplar{refs: listRange{start: int32(len(r.exemplarRefs))}}
	f := wire.FieldsOf(b)
	for f.Next() {
		switch {
		case f.Number == 1 && r.version == version2:
			r.exemplarRefs = f.Uint32s(r.exemplarRefs)
		case f.Number == 1:
			if _, err := parseLabel(f.Bytes()); err != nil {
				return err
			}
			if err := f.Err(); err != nil {
				return err
			}
			e.block.add(b, f.Begin(), f.End())
		case f.Number == 2:
			e.value = f.Double()
		case f.Number == 3:
			e.time = int64(f.Uint())
		default:
			f.Skip()
		}
	}
	e.refs.end = int32(len(r.exemplarRefs))
	r.exemplars = append(r.exemplars, e)
	return f.Err()
}

// protoHistogram is a histogram of either version.
type protoHistogram interface {
	histogramcodec.ProtoHistogram
	Unmarshal(b []byte) error
}

// decodeHistogram reads a histogram, except its times, into p with the generated code: histograms
// are rare and large.
func (r *message) decodeHistogram(b []byte, p protoHistogram) (h messageHistogram, err error) {
	h, numbers := tooLarge(b)
	if h.err != nil {
		return h, nil
	}
	r.histogramBytes += histogramMemory + bucketMemory*numbers
	if err := p.Unmarshal(b); err != nil {
		return h, fmt.Errorf("%w: histogram: %w", wire.ErrMalformed, err)
	}
	h.ints, h.floats = histogramcodec.HistogramOf(p)
	return h, nil
}
