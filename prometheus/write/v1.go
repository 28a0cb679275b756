package write

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// walkV1 reads a prometheus.WriteRequest. The inside of labels is left to parseBlock: the labels of nearly all series are
// known by their bytes.
func (r *wireRequest) walkV1(b []byte, l wireLimits) error {
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		if next < 0 {
			return wire.ErrMalformed
		}
		var m []byte
		var err error
		switch field {
		case 1:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = r.walkSeriesV1(m, l)
			}
		case 3:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = r.walkMetadataV1(m, l)
			}
		default:
			i = wire.SkipField(b, i)
		}
		if err == nil && i < 0 {
			err = wire.ErrMalformed
		}
		if err != nil {
			return fmt.Errorf("time series %d: %w", len(r.series), err)
		}
	}
	return nil
}

// walkSeriesV1 reads a prometheus.TimeSeries.
func (r *wireRequest) walkSeriesV1(b []byte, l wireLimits) error {
	r.series = append(r.series, wireSeries{})
	s := &r.series[len(r.series)-1]
	for i := 0; i < len(b); {
		if end := skipShortLabels(b, i); end > i {
			s.block.add(b, i, end)
			i = end
			continue
		}
		var err error
		if i, err = r.walkSeriesField(s, b, i); err == nil {
			err = r.check(l)
		}
		if err != nil {
			return err
		}
	}
	r.endSeries()
	return r.check(l)
}

// skipShortLabels skips label fields in their usual form, with a length of one byte: they are most of a request.
func skipShortLabels(b []byte, i int) int {
	for i+1 < len(b) && b[i] == 1<<3|wire.Bytes && b[i+1] < 0x80 {
		next := i + 2 + int(b[i+1])
		if next > len(b) {
			return i
		}
		i = next
	}
	return i
}

// walkSeriesField reads one field of a prometheus.TimeSeries.
func (r *wireRequest) walkSeriesField(s *wireSeries, b []byte, start int) (i int, err error) {
	field, wireType, next := wire.ReadTag(b, start)
	if next < 0 {
		return 0, wire.ErrMalformed
	}
	if field > 4 {
		if i = wire.SkipField(b, start); i < 0 {
			return 0, wire.ErrMalformed
		}
		return i, nil
	}
	var m []byte
	if m, i = wire.ReadBytes(b, next, wireType); i < 0 {
		return 0, wire.ErrMalformed
	}
	switch field {
	case 1:
		s.block.add(b, start, i)
	case 2:
		err = r.walkSample(m)
	case 3:
		err = r.walkExemplarV1(m)
	case 4:
		err = r.walkHistogramV1(m)
	}
	return i, err
}

// walkSample reads a prometheus.Sample, which is an io.prometheus.write.v2.Sample without start_timestamp (field 3).
func (r *wireRequest) walkSample(b []byte) error {
	if s, ok := usualSample(b); ok {
		r.samples = append(r.samples, s)
		return nil
	}
	var s wireSample
	var v uint64
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		switch {
		case next < 0:
			return wire.ErrMalformed
		case field == 1:
			s.value, i = wire.ReadDouble(b, next, wireType)
		case field == 2:
			v, i = wire.ReadNumber(b, next, wireType)
			s.time = int64(v)
		case field == 3 && r.version == wireV2:
			v, i = wire.ReadNumber(b, next, wireType)
			s.start = int64(v)
		default:
			i = wire.SkipField(b, i)
		}
		if i < 0 {
			return wire.ErrMalformed
		}
	}
	r.samples = append(r.samples, s)
	return nil
}

// usualSample reads a sample that is just a value and a time, in this order.
func usualSample(b []byte) (s wireSample, ok bool) {
	if len(b) < 11 || b[0] != 1<<3|wire.Fixed64 || b[9] != 2<<3|wire.Varint {
		return s, false
	}
	time, end := wire.ReadLongUvarint(b, 10)
	s.value, s.time = math.Float64frombits(binary.LittleEndian.Uint64(b[1:])), int64(time)
	return s, end == len(b)
}

// walkExemplarV1 reads a prometheus.Exemplar.
func (r *wireRequest) walkExemplarV1(b []byte) error {
	var e wireExemplar
	var v uint64
	for i := 0; i < len(b); {
		start := i
		field, wireType, next := wire.ReadTag(b, i)
		switch {
		case next < 0:
			return wire.ErrMalformed
		case field == 1:
			var l []byte
			if l, i = wire.ReadBytes(b, next, wireType); i < 0 {
				return wire.ErrMalformed
			}
			if _, err := parseLabel(l); err != nil {
				return err
			}
			e.block.add(b, start, i)
		case field == 2:
			e.value, i = wire.ReadDouble(b, next, wireType)
		case field == 3:
			v, i = wire.ReadNumber(b, next, wireType)
			e.time = int64(v)
		default:
			i = wire.SkipField(b, i)
		}
		if i < 0 {
			return wire.ErrMalformed
		}
	}
	r.exemplars = append(r.exemplars, e)
	return nil
}

// wireHistogram is a histogram sample; one of ints and floats is set.
type wireHistogram struct {
	time, start int64 // milliseconds; start 0: none
	ints        *histogram.Histogram
	floats      *histogram.FloatHistogram
	err         error // why it cannot be stored; see judgeHistograms
}

// walkHistogramV1 reads a prometheus.Histogram with the generated code: histograms are rare and large.
func (r *wireRequest) walkHistogramV1(b []byte) error {
	if h := tooLarge(b); h.err != nil {
		r.histograms = append(r.histograms, h)
		return nil
	}
	var p prompb.Histogram
	if err := p.Unmarshal(b); err != nil {
		return fmt.Errorf("%w: histogram: %w", wire.ErrMalformed, err)
	}
	h := wireHistogram{time: p.Timestamp}
	h.ints, h.floats = object.HistogramOf(&p)
	r.histograms = append(r.histograms, h)
	return nil
}

// walkMetadataV1 reads a prometheus.MetricMetadata.
func (r *wireRequest) walkMetadataV1(b []byte, l wireLimits) error {
	var m wireMetadata
	var v uint64
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		switch {
		case next < 0:
			return wire.ErrMalformed
		case field == 1:
			v, i = wire.ReadNumber(b, next, wireType)
			m.kind = int32(v)
		case field == 2:
			m.family, i = wire.ReadBytes(b, next, wireType)
		case field == 4:
			m.help, i = wire.ReadBytes(b, next, wireType)
		case field == 5:
			m.unit, i = wire.ReadBytes(b, next, wireType)
		default:
			i = wire.SkipField(b, i)
		}
		if i < 0 {
			return wire.ErrMalformed
		}
	}
	r.metadata = append(r.metadata, m)
	return r.check(l)
}

// labelBlock is the bytes of the label fields (field 1) of a message, tags and lengths included. Senders put them one after the
// other, and then the block is a part of the body; else it is a copy.
type labelBlock struct {
	bytes []byte
	end   int // in the message, 0 for a copy
}

// add adds the field at b[start:end].
func (l *labelBlock) add(b []byte, start, end int) {
	switch {
	case l.bytes == nil:
		l.bytes, l.end = b[start:end:end], end
	case l.end == start:
		l.bytes, l.end = b[start-len(l.bytes):end:end], end
	default:
		if l.end > 0 {
			l.bytes, l.end = bytes.Clone(l.bytes), 0
		}
		l.bytes = append(l.bytes, b[start:end]...)
	}
}

// parseBlock appends the labels of a block.
func parseBlock(dst []rawLabel, block []byte) ([]rawLabel, error) {
	for i := 0; i < len(block); {
		_, wireType, next := wire.ReadTag(block, i)
		if next < 0 {
			return dst, wire.ErrMalformed
		}
		var m []byte
		if m, i = wire.ReadBytes(block, next, wireType); i < 0 {
			return dst, wire.ErrMalformed
		}
		l, err := parseLabel(m)
		if err != nil {
			return dst, err
		}
		dst = append(dst, l)
	}
	return dst, nil
}

// parseLabel reads a prometheus.Label.
func parseLabel(b []byte) (rawLabel, error) {
	var l rawLabel
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		switch {
		case next < 0:
			return l, wire.ErrMalformed
		case field == object.LabelName:
			l.name, i = wire.ReadBytes(b, next, wireType)
		case field == object.LabelValue:
			l.value, i = wire.ReadBytes(b, next, wireType)
		default:
			i = wire.SkipField(b, i)
		}
		if i < 0 {
			return l, wire.ErrMalformed
		}
	}
	return l, nil
}
