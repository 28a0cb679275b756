package otlp

import (
	"errors"
	"fmt"
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
	resources             []resource
	scopes                []scope
	metrics               []metric
	points                []point
	extras                []extra // of histograms and summaries
	keys                  []byte  // of points
	room                  func(bytes int) error
	maxPoints, maxSamples int
	parts                 int // resources, scopes and metrics
	quantiles             int // of all summaries
	exemplars             int // of all points
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
	added      bool // a delta, to its sum
	exemplars  int
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

	exponential int // buckets of both signs
}

// keyHead is the number of the family and the start time, before the attributes in a key.
const keyHead = 16

var errMetricTwice = errors.New("metric with two kinds of data")

// walk reads a request.
func (m *message) walk(b []byte) error {
	if err := m.room(len(b)); err != nil { // keys, and what is merged
		return err
	}
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

// roomStep is how many entries of a list memory is taken for at once.
const roomStep = 256

// partMemory is about what a resource, a scope or a metric takes in lists, in bytes.
const partMemory = 200

// part counts a resource, a scope or a metric.
func (m *message) part() error {
	if m.parts == m.maxPoints {
		return fmt.Errorf("request of more than %d resources, scopes and metrics", m.maxPoints)
	}
	m.parts++
	return m.roomFor(m.parts, partMemory)
}

// roomFor takes memory for the next entries of a list when it gets the first of them, of so many bytes
// each.
func (m *message) roomFor(entries, bytes int) error {
	if entries%roomStep != 1 {
		return nil
	}
	return m.room(bytes * roomStep)
}

func (m *message) walkResource(b []byte) error {
	if err := m.part(); err != nil {
		return err
	}
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

// merge joins two occurrences of a message: protobuf merges them. The first one is a part of the
// request, without room behind it, so that the second one is not written over what follows; the joined
// ones have memory of their own, which grows by doubling.
func merge(before, b []byte) []byte {
	if before == nil {
		return slices.Clip(b)
	}
	return append(before, b...)
}

func (m *message) walkScope(resource int, b []byte) error {
	if err := m.part(); err != nil {
		return err
	}
	at := len(m.scopes)
	m.scopes = append(m.scopes, scope{resource: resource})
	f := wire.FieldsOf(b)
	for f.Next() {
		switch f.Number {
		case 1:
			m.scopes[at].raw = merge(m.scopes[at].raw, f.Bytes())
		case 2:
			if err := m.walkMetric(at, f.Bytes()); err != nil {
				return m.metricError(err)
			}
		case 3:
			m.scopes[at].schema = f.Bytes()
		default:
			f.Skip()
		}
	}
	return f.Err()
}

// metricError names the metric that could not be read: the last one.
func (m *message) metricError(err error) error {
	if len(m.metrics) == 0 {
		return err
	}
	return fmt.Errorf("metric %d %.100q: %w", len(m.metrics), m.metrics[len(m.metrics)-1].name, err)
}

func (m *message) walkMetric(scope int, b []byte) error {
	if err := m.part(); err != nil {
		return err
	}
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
