package otlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// The kinds of data of a metric: their field numbers in opentelemetry.proto.metrics.v1.Metric.
const (
	kindNone        = 0
	kindGauge       = 5
	kindSum         = 7
	kindHistogram   = 9
	kindExponential = 10
	kindSummary     = 11
)

// opentelemetry.proto.metrics.v1.AggregationTemporality.
const (
	temporalityDelta      = 1
	temporalityCumulative = 2
)

// A message is an ExportMetricsServiceRequest as lists that point into its bytes. Attributes are not
// decoded: their bytes name a series that is known.
type message struct {
	resources []resource
	scopes    []scope
	metrics   []metric
	points    []point
	extras    []extra // of histograms and summaries
	keys      []byte  // of points
	room      func(bytes int) bool
	maxPoints int
}

type resource struct {
	raw              []byte // the Resource
	earliest, latest int64  // of the points that are stored, milliseconds
	points           bool
}

type scope struct {
	resource int
	raw      []byte // the InstrumentationScope
	schema   []byte
}

type metric struct {
	scope                   int
	name, description, unit []byte
	kind                    int32
	temporality             uint64
	monotonic               bool
	family                  *family
}

// cumulative reports whether a start time marks a restart of a counter.
func (m *metric) cumulative() bool {
	return m.kind == kindSummary || (m.kind == kindSum || m.kind == kindHistogram || m.kind == kindExponential) && m.temporality == temporalityCumulative
}

// delta reports whether values count from the point before.
func (m *metric) delta() bool {
	return (m.kind == kindSum || m.kind == kindHistogram || m.kind == kindExponential) && m.temporality == temporalityDelta
}

type point struct {
	metric     int
	extra      int // in extras; -1: none
	raw        []byte
	key        span // in keys: room for keyHead bytes, then the attributes
	attributes int
	start, at  int64 // milliseconds
	nanos      int64 // at, nanoseconds
	value      float64
	stale      bool // "no recorded value"
	exemplars  bool
	refs       span // in the refs of the job
	converted  int  // first in the converted samples of the job; -1: none
	bad        error
}

type span struct{ from, to int }

// extra is what histograms and summaries have in addition.
type extra struct {
	count     uint64
	sum       float64
	hasSum    bool
	counts    []byte // fixed64s
	bounds    []byte // doubles
	quantiles []float64
	values    []float64
	scale     int32
}

// keyHead is the number of the family and the start time, before the attributes in a key.
const keyHead = 16

var errMetricTwice = errors.New("metric with two kinds of data")

// walk reads a request.
func (m *message) walk(b []byte) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		if f.Number != 1 {
			f.Skip()
			continue
		}
		if err := m.walkResource(f.Bytes()); err != nil {
			return fmt.Errorf("resource metrics %d: %w", len(m.resources), err)
		}
	}
	return f.Err()
}

func (m *message) walkResource(b []byte) error {
	at := len(m.resources)
	m.resources = append(m.resources, resource{})
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			m.resources[at].raw = merge(m.resources[at].raw, f.Bytes())
		case 2:
			if err := m.walkScope(at, f.Bytes()); err != nil {
				return err
			}
		default:
			f.Skip()
		}
	}
	return f.Err()
}

// merge joins two occurrences of a message: protobuf merges them.
func merge(before, b []byte) []byte {
	if before == nil {
		return b
	}
	return append(slices.Clip(before), b...)
}

func (m *message) walkScope(resource int, b []byte) error {
	at := len(m.scopes)
	m.scopes = append(m.scopes, scope{resource: resource})
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			m.scopes[at].raw = merge(m.scopes[at].raw, f.Bytes())
		case 2:
			if err := m.walkMetric(at, f.Bytes()); err != nil {
				return fmt.Errorf("metric %d %.100q: %w", len(m.metrics), m.metrics[len(m.metrics)-1].name, err)
			}
		case 3:
			m.scopes[at].schema = f.Bytes()
		default:
			f.Skip()
		}
	}
	return f.Err()
}

func (m *message) walkMetric(scope int, b []byte) error {
	at := len(m.metrics)
	m.metrics = append(m.metrics, metric{scope: scope})
	of := &m.metrics[at]
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			of.name = f.Bytes()
		case 2:
			of.description = f.Bytes()
		case 3:
			of.unit = f.Bytes()
		case kindGauge, kindSum, kindHistogram, kindExponential, kindSummary:
			if of.kind != kindNone && of.kind != f.Number {
				return errMetricTwice
			}
			of.kind = f.Number
			if err := m.walkData(at, f.Bytes()); err != nil {
				return err
			}
		default:
			f.Skip()
		}
	}
	return f.Err()
}

// walkData reads a Gauge, Sum, Histogram, ExponentialHistogram or Summary.
func (m *message) walkData(metric int, b []byte) error {
	of := &m.metrics[metric]
	f := wire.FieldsOf(b)
	for f.Next() {
		switch {
		case f.Number == 1:
			if err := m.walkPoint(metric, f.Bytes()); err != nil {
				return err
			}
		case f.Number == 2 && of.kind != kindGauge && of.kind != kindSummary:
			of.temporality = f.Uint()
		case f.Number == 3 && of.kind == kindSum:
			of.monotonic = f.Uint() != 0
		default:
			f.Skip()
		}
	}
	return f.Err()
}

// pointMemory is about what a point takes in lists, in bytes.
const pointMemory = 400

func (m *message) walkPoint(metric int, b []byte) error {
	switch n := len(m.points); {
	case n == m.maxPoints:
		return fmt.Errorf("request of more than %d data points", m.maxPoints)
	case n%4096 == 0 && !m.room(pointMemory*4096):
		return errBusy
	}
	m.points = append(m.points, point{metric: metric, raw: b, extra: -1, converted: -1})
	p := &m.points[len(m.points)-1]
	p.key.from = len(m.keys)
	m.keys = append(m.keys, make([]byte, keyHead)...)
	var err error
	switch m.metrics[metric].kind {
	case kindGauge, kindSum:
		err = m.walkNumber(p, b)
	case kindHistogram:
		err = m.walkHistogram(p, b)
	case kindExponential:
		err = m.walkExponential(p, b)
	default:
		err = m.walkSummary(p, b)
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

const noRecordedValue = 1

func (m *message) walkNumber(p *point, b []byte) error {
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 2:
			p.setStart(&f)
		case 3:
			p.setTime(&f)
		case 4:
			p.value = f.Double()
		case 5:
			p.exemplars = true
			f.Skip()
		case 6:
			p.value = float64(int64(fixed(&f)))
		case 7:
			m.attribute(p, f.Bytes())
		case 8:
			p.stale = f.Uint()&noRecordedValue != 0
		default:
			f.Skip()
		}
	}
	return f.Err()
}

func (m *message) walkHistogram(p *point, b []byte) error {
	e := m.newExtra(p)
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 2:
			p.setStart(&f)
		case 3:
			p.setTime(&f)
		case 4:
			e.count = fixed(&f)
		case 5:
			e.sum, e.hasSum = f.Double(), true
		case 6:
			e.counts = fixeds(e.counts, &f)
		case 7:
			e.bounds = fixeds(e.bounds, &f)
		case 8:
			p.exemplars = true
			f.Skip()
		case 9:
			m.attribute(p, f.Bytes())
		case 10:
			p.stale = f.Uint()&noRecordedValue != 0
		default:
			f.Skip()
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
	return binary.LittleEndian.AppendUint64(slices.Clip(before), fixed(f))
}

func (m *message) newExtra(p *point) *extra {
	p.extra = len(m.extras)
	m.extras = append(m.extras, extra{})
	return &m.extras[p.extra]
}

func (m *message) walkExponential(p *point, b []byte) error {
	e := m.newExtra(p)
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			m.attribute(p, f.Bytes())
		case 2:
			p.setStart(&f)
		case 3:
			p.setTime(&f)
		case 6:
			v := uint32(f.Uint())
			e.scale = int32(v>>1) ^ -int32(v&1)
		case 10:
			p.stale = f.Uint()&noRecordedValue != 0
		case 11:
			p.exemplars = true
			f.Skip()
		default:
			f.Skip()
		}
	}
	return f.Err()
}

func (m *message) walkSummary(p *point, b []byte) error {
	e := m.newExtra(p)
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 2:
			p.setStart(&f)
		case 3:
			p.setTime(&f)
		case 4:
			e.count = fixed(&f)
		case 5:
			e.sum = f.Double()
		case 6:
			if err := e.quantile(f.Bytes()); err != nil {
				return err
			}
		case 7:
			m.attribute(p, f.Bytes())
		case 8:
			p.stale = f.Uint()&noRecordedValue != 0
		default:
			f.Skip()
		}
	}
	return f.Err()
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
