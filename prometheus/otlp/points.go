package otlp

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// pointMemory is about what a point takes in lists, in bytes.
const pointMemory = 400

func (m *message) walkPoint(metric int, b []byte) error {
	n := len(m.points)
	if n == m.maxPoints {
		return fmt.Errorf("request of more than %d data points", m.maxPoints)
	}
	err := m.roomFor(n+1, pointMemory)
	if err != nil {
		return err
	}
	m.points = append(m.points, point{metric: metric, raw: b, extra: -1, converted: -1})
	p := &m.points[len(m.points)-1]
	p.key.from = len(m.keys)
	m.keys = append(m.keys, make([]byte, keyHead)...)
	switch kind := m.metrics[metric].kind; kind {
	case kindGauge, kindSum:
		err = m.walkNumber(p, b, fieldsOfPoint(kind))
	case kindHistogram:
		err = m.walkHistogram(p, b, fieldsOfPoint(kind))
	case kindExponential:
		err = m.walkExponential(p, b, fieldsOfPoint(kind))
	default:
		err = m.walkSummary(p, b, fieldsOfPoint(kind))
	}
	p.key.to = len(m.keys)
	return err
}

const nanosOfMilli = 1_000_000

// setTime reads the time of a point.
func (p *point) setTime(f *wire.Fields) {
	p.nanos = int64(fixed(f))
	p.at = p.nanos / nanosOfMilli
}

// setStart reads the start time of a point.
func (p *point) setStart(f *wire.Fields) { p.start = int64(fixed(f)) / nanosOfMilli }

func fixed(f *wire.Fields) uint64 { return math.Float64bits(f.Double()) }

func (m *message) attribute(p *point, kv []byte) {
	p.attributes++
	m.keys = binary.AppendUvarint(m.keys, uint64(len(kv)))
	m.keys = append(m.keys, kv...)
}

// exemplarMemory is about what an exemplar takes until it is stored, in bytes.
const exemplarMemory = 200

// exemplar counts an exemplar of a point.
func (m *message) exemplar(p *point) error {
	if m.exemplars == m.maxPoints {
		return fmt.Errorf("request of more than %d exemplars", m.maxPoints)
	}
	m.exemplars++
	p.exemplars++
	return m.roomFor(m.exemplars, exemplarMemory)
}

const noRecordedValue = 1

// pointFields are where data points of a kind have what all have; 0: they have it not.
type pointFields struct{ attributes, exemplars, flags int32 }

// fieldsOfPoint returns where data points of a kind have their fields.
func fieldsOfPoint(kind int32) pointFields {
	switch kind {
	case kindHistogram:
		return pointFields{attributes: 9, exemplars: 8, flags: 10}
	case kindExponential:
		return pointFields{attributes: 1, exemplars: 11, flags: 10}
	case kindSummary:
		return pointFields{attributes: 7, flags: 8}
	}
	return pointFields{attributes: 7, exemplars: 5, flags: 8}
}

// walkCommon reads a field that all kinds of points have, and passes over those that nobody wants.
func (m *message) walkCommon(p *point, f *wire.Fields, at pointFields) error {
	switch f.Number {
	case 2:
		p.setStart(f)
	case 3:
		p.setTime(f)
	case at.attributes:
		m.attribute(p, f.Bytes())
	case at.flags:
		p.stale = f.Uint()&noRecordedValue != 0
	case at.exemplars:
		f.Skip()
		return m.exemplar(p)
	default:
		f.Skip()
	}
	return nil
}

func (m *message) walkNumber(p *point, b []byte, at pointFields) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 4:
			p.value = f.Double()
		case 6:
			p.value = float64(int64(fixed(&f)))
		default:
			if err := m.walkCommon(p, &f, at); err != nil {
				return err
			}
		}
	}
	return f.Err()
}

func (m *message) walkHistogram(p *point, b []byte, at pointFields) error {
	e := m.newExtra(p)
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 4:
			e.count = fixed(&f)
		case 5:
			e.sum, e.hasSum = f.Double(), true
		case 6:
			e.counts = fixeds(e.counts, &f)
		case 7:
			e.bounds = fixeds(e.bounds, &f)
		default:
			if err := m.walkCommon(p, &f, at); err != nil {
				return err
			}
		}
	}
	if len(e.counts)%8 != 0 || len(e.bounds)%8 != 0 {
		return wire.ErrMalformed
	}
	return f.Err()
}

// fixeds reads a repeated field of eight bytes each, packed or not.
func fixeds(before []byte, f *wire.Fields) []byte {
	if f.Type == wire.Bytes {
		return merge(before, f.Bytes())
	}
	return binary.LittleEndian.AppendUint64(before, fixed(f)) // as merge
}

func (m *message) newExtra(p *point) *extra {
	p.extra = len(m.extras)
	m.extras = append(m.extras, extra{})
	return &m.extras[p.extra]
}

func (m *message) walkExponential(p *point, b []byte, at pointFields) error {
	e := m.newExtra(p)
	f := wire.FieldsOf(b)
	for f.Next() {
		var err error
		switch f.Number {
		case 6:
			v := uint32(f.Uint())
			e.scale = int32(v>>1) ^ -int32(v&1)
		case 8, 9:
			err = e.countBuckets(f.Bytes())
		default:
			err = m.walkCommon(p, &f, at)
		}
		if err != nil {
			return err
		}
	}
	return f.Err()
}

// countBuckets counts the buckets of one sign.
func (e *extra) countBuckets(b []byte) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		switch {
		case f.Number == 2 && f.Type == wire.Bytes:
			for _, c := range f.Bytes() {
				if c < 0x80 { // the last byte of a number
					e.exponential++
				}
			}
		case f.Number == 2:
			e.exponential++
			f.Skip()
		default:
			f.Skip()
		}
	}
	return f.Err()
}

func (m *message) walkSummary(p *point, b []byte, at pointFields) error {
	e := m.newExtra(p)
	f := wire.FieldsOf(b)
	for f.Next() {
		var err error
		switch f.Number {
		case 4:
			e.count = fixed(&f)
		case 5:
			e.sum = f.Double()
		case 6:
			if err = m.countQuantile(); err == nil {
				err = e.quantile(f.Bytes())
			}
		default:
			err = m.walkCommon(p, &f, at)
		}
		if err != nil {
			return err
		}
	}
	return f.Err()
}

// quantileMemory is what a quantile takes in lists, in bytes: their memory grows by doubling.
const quantileMemory = 32

func (m *message) countQuantile() error {
	if m.quantiles == m.maxSamples {
		return fmt.Errorf("summaries of more than %d quantiles", m.maxSamples)
	}
	m.quantiles++
	return m.roomFor(m.quantiles, quantileMemory)
}

func (e *extra) quantile(b []byte) error {
	var q, v float64
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			q = f.Double()
		case 2:
			v = f.Double()
		default:
			f.Skip()
		}
	}
	e.quantiles, e.values = append(e.quantiles, q), append(e.values, v)
	return f.Err()
}

// buckets returns how many buckets with a bound the Prometheus module makes of a histogram.
func (e *extra) buckets() int { return min(len(e.bounds), len(e.counts)) / 8 }

func (e *extra) bound(i int) uint64 { return binary.LittleEndian.Uint64(e.bounds[8*i:]) }

func (e *extra) bucket(i int) uint64 { return binary.LittleEndian.Uint64(e.counts[8*i:]) }
