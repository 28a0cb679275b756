package write

import (
	"fmt"

	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// walkV2 reads an io.prometheus.write.v2.Request. Symbols may come after the series that refer to them, so references are
// followed later, by appendKey.
func (r *wireRequest) walkV2(b []byte, l wireLimits) error {
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		if next < 0 {
			return wire.ErrMalformed
		}
		var m []byte
		var err error
		switch field {
		case 4:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				r.symbols = append(r.symbols, m)
			}
		case 5:
			if m, i = wire.ReadBytes(b, next, wireType); i >= 0 {
				err = r.walkSeriesV2(m, l)
			}
		default:
			i = wire.SkipField(b, i)
		}
		if err == nil && i < 0 {
			err = wire.ErrMalformed
		}
		if err == nil && len(r.symbols) > l.data {
			err = errTooMany
		}
		if err != nil {
			return fmt.Errorf("time series %d: %w", len(r.series), err)
		}
	}
	return nil
}

// walkSeriesV2 reads an io.prometheus.write.v2.TimeSeries.
func (r *wireRequest) walkSeriesV2(b []byte, l wireLimits) error {
	r.series = append(r.series, wireSeries{})
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
				err = r.walkExemplarV2(m)
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

// walkExemplarV2 reads an io.prometheus.write.v2.Exemplar.
func (r *wireRequest) walkExemplarV2(b []byte) error {
	e := wireExemplar{refs: wireRange{start: int32(len(r.exemplarRefs))}}
	var v uint64
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		switch {
		case next < 0:
			return wire.ErrMalformed
		case field == 1:
			r.exemplarRefs, i = wire.ReadUint32s(r.exemplarRefs, b, next, wireType)
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
	e.refs.end = int32(len(r.exemplarRefs))
	r.exemplars = append(r.exemplars, e)
	return nil
}

// walkHistogramV2 reads an io.prometheus.write.v2.Histogram with the generated code.
func (r *wireRequest) walkHistogramV2(b []byte) error {
	if h := tooLarge(b); h.err != nil {
		r.histograms = append(r.histograms, h)
		return nil
	}
	var p writev2.Histogram
	if err := p.Unmarshal(b); err != nil {
		return fmt.Errorf("%w: histogram: %w", wire.ErrMalformed, err)
	}
	h := wireHistogram{time: p.Timestamp, start: p.StartTimestamp}
	h.ints, h.floats = object.HistogramOf(&p)
	r.histograms = append(r.histograms, h)
	return nil
}

// walk reads an io.prometheus.write.v2.Metadata. One that comes twice in a series is merged, as protobuf demands.
func (m *wireSeriesMetadata) walk(b []byte) error {
	var v uint64
	for i := 0; i < len(b); {
		field, wireType, next := wire.ReadTag(b, i)
		switch {
		case next < 0:
			return wire.ErrMalformed
		case field == 1:
			v, i = wire.ReadNumber(b, next, wireType)
			m.kind = int32(v)
		case field == 3:
			v, i = wire.ReadNumber(b, next, wireType)
			m.help = uint32(v)
		case field == 4:
			v, i = wire.ReadNumber(b, next, wireType)
			m.unit = uint32(v)
		default:
			i = wire.SkipField(b, i)
		}
		if i < 0 {
			return wire.ErrMalformed
		}
	}
	return nil
}
