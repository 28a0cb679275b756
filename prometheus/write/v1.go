package write

import (
	"bytes"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// walkSeriesV1 reads a prometheus.TimeSeries. It leaves the inside of labels to parseBlock: nearly
// all series are known by the bytes of their labels.
func (r *message) walkSeriesV1(b []byte, l messageLimits) error {
	r.series = append(r.series, messageSeries{})
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

// skipShortLabels skips label fields in their usual form, with a length of one byte. They are most
// of a request.
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
func (r *message) walkSeriesField(s *messageSeries, b []byte, start int) (i int, err error) {
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
		err = r.walkExemplar(m)
	case 4:
		err = r.walkHistogramV1(m)
	}
	return i, err
}

// walkHistogramV1 reads a prometheus.Histogram.
func (r *message) walkHistogramV1(b []byte) error {
	var p prompb.Histogram
	h, err := r.decodeHistogram(b, &p)
	h.time = p.Timestamp
	r.histograms = append(r.histograms, h)
	return err
}

// walkMetadataV1 reads a prometheus.MetricMetadata.
func (r *message) walkMetadataV1(b []byte, l messageLimits) error {
	var m familyMetadata
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			m.kind = int32(f.Uint())
		case 2:
			m.family = f.Bytes()
		case 4:
			m.help = f.Bytes()
		case 5:
			m.unit = f.Bytes()
		default:
			f.Skip()
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	r.metadata = append(r.metadata, m)
	return r.check(l)
}

// labelBlock is the bytes of the label fields (field 1) of a message, with their tags and lengths.
// Usually the fields are consecutive and the block is a part of the body; otherwise it is a copy.
type labelBlock struct {
	bytes []byte
	end   int // in the message, 0 for a copy
}

// isCopy reports whether the block has memory of its own.
func (l *labelBlock) isCopy() bool { return l.end == 0 && l.bytes != nil }

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
	f := wire.FieldsOf(block)
	for f.Next() {
		l, err := parseLabel(f.Bytes())
		if err != nil {
			return dst, err
		}
		if err := f.Err(); err != nil {
			return dst, err
		}
		dst = append(dst, l)
	}
	return dst, f.Err()
}

// parseLabel reads a prometheus.Label.
func parseLabel(b []byte) (l rawLabel, err error) {
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case histogramcodec.LabelName:
			l.name = f.Bytes()
		case histogramcodec.LabelValue:
			l.value = f.Bytes()
		default:
			f.Skip()
		}
	}
	return l, f.Err()
}
