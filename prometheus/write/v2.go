package write

import (
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// walkSeriesV2 reads an io.prometheus.write.v2.TimeSeries. Symbols may come after the series that
// refer to them, so seriesKey resolves the references after the walk.
func (r *message) walkSeriesV2(b []byte, l messageLimits) error {
	r.series = append(r.series, messageSeries{})
	s := &r.series[len(r.series)-1]
	s.refs.start = int32(len(r.refs))
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		if next < 0 {
			return wire.ErrMalformed
		}
		var m []byte
		var err error
		switch field {
		case 1:
			r.refs, i = wire.ReadUint32s(r.refs, b, next, wireType)
		case 2:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = r.walkSample(m)
			}
		case 3:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = r.walkHistogramV2(m)
			}
		case 4:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = r.walkExemplar(m)
			}
		case 5:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = s.meta.walk(m)
			}
		default:
			i = wire.SkipField(b, i)
		}
		if err == nil && i < 0 {
			err = wire.ErrMalformed
		}
		if err == nil {
			err = r.check(l)
		}
		if err != nil {
			return err
		}
	}
	s.refs.end = int32(len(r.refs))
	r.endSeries()
	return r.check(l)
}

// walkHistogramV2 reads an io.prometheus.write.v2.Histogram.
func (r *message) walkHistogramV2(b []byte) error {
	var p writev2.Histogram
	h, err := r.decodeHistogram(b, &p)
	h.time, h.start = p.Timestamp, p.StartTimestamp
	r.histograms = append(r.histograms, h)
	return err
}

// walk reads an io.prometheus.write.v2.Metadata. If a series has several, they are merged, as
// protobuf demands.
func (m *seriesMetadata) walk(b []byte) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			m.kind = int32(f.Uint())
		case 3:
			m.help = uint32(f.Uint())
		case 4:
			m.unit = uint32(f.Uint())
		default:
			f.Skip()
		}
	}
	return f.Err()
}
