package load

import (
	"encoding/binary"
	"math"
	"strings"
)

// otlp encodes ExportMetricsServiceRequest of opentelemetry.proto.collector.metrics.v1, as a
// Collector batches it: the series of an instance are a resource with one scope, and those of one
// name are the data points of a metric.
type otlp struct {
	resources    []*otlpResource // of the request, in the order of their first samples
	byName       map[string]*otlpResource
	known        map[*Series]*otlpSeries
	start        uint64 // of all that counts, nanoseconds
	point        []byte
	out, a, b, c []byte
}

type otlpResource struct {
	raw     []byte // the Resource
	metrics []*otlpMetric
	byName  map[string]*otlpMetric
}

type otlpMetric struct {
	name   string
	kind   byte   // the field of its data
	points []byte // the fields 1 of its data
}

// otlpSeries is what all samples of a series have in common.
type otlpSeries struct {
	name       string
	kind       byte
	resource   string
	attributes []byte // fields, as data points have them
}

// Fields of opentelemetry.proto.metrics.v1.Metric.
const (
	otlpGauge       = 5
	otlpSum         = 7
	otlpExplicit    = 9
	otlpExponential = 10
)

const cumulative = 2 // of AggregationTemporality

func newOTLP(shape Shape) *otlp {
	return &otlp{byName: map[string]*otlpResource{}, known: map[*Series]*otlpSeries{}, start: nanoseconds(shape.Start().UnixMilli())}
}

func nanoseconds(ms int64) uint64 { return uint64(ms) * 1_000_000 }

func (e *otlp) add(s Sample) {
	of := e.known[s.Series]
	if of == nil {
		of = newOTLPSeries(s.Series)
		e.known[s.Series] = of
	}
	m := e.resource(of.resource).metric(of)
	e.point = e.point[:0]
	switch of.kind {
	case otlpExplicit:
		e.explicit(s)
		e.point = append(e.point, of.attributes...)
	case otlpExponential:
		e.point = append(e.point, of.attributes...)
		e.exponential(s)
	default:
		if of.kind == otlpSum {
			e.fixed(2, e.start)
		}
		e.fixed(3, nanoseconds(s.Time))
		e.fixed(4, math.Float64bits(s.Value))
		e.point = append(e.point, of.attributes...)
	}
	m.points = appendBytes(m.points, 1, e.point)
}

// fixed appends a field of eight bytes to the point.
func (e *otlp) fixed(field byte, v uint64) {
	e.point = binary.LittleEndian.AppendUint64(append(e.point, field<<3|1), v)
}

// counted appends what both kinds of histograms begin with.
func (e *otlp) counted(s Sample) {
	e.fixed(2, e.start)
	e.fixed(3, nanoseconds(s.Time))
	e.fixed(4, s.Series.Count())
	e.fixed(5, math.Float64bits(s.Value))
}

func (e *otlp) explicit(s Sample) {
	e.counted(s)
	e.a, e.b = e.a[:0], e.b[:0]
	for _, n := range s.Series.counts {
		e.a = binary.LittleEndian.AppendUint64(e.a, n)
	}
	for _, bound := range explicitBounds {
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(bound))
	}
	e.point = appendBytes(appendBytes(e.point, 6, e.a), 7, e.b)
}

func (e *otlp) exponential(s Sample) {
	e.counted(s)
	e.point = binary.AppendVarint(append(e.point, 6<<3), exponentialScale)
	e.a = e.a[:0]
	for _, n := range s.Series.counts {
		e.a = binary.AppendUvarint(e.a, n)
	}
	e.b = binary.AppendVarint(append(e.b[:0], 1<<3), exponentialOffset)
	e.point = appendBytes(e.point, 8, appendBytes(e.b, 2, e.a))
}

// otlpAttributes are the attributes of resources that labels become.
var otlpAttributes = map[string]string{
	"job": "service.name", "instance": "service.instance.id", "env": "deployment.environment.name", "dc": "cloud.availability_zone",
}

func newOTLPSeries(s *Series) *otlpSeries {
	of := &otlpSeries{name: s.Name(), kind: otlpGauge}
	field := byte(7)
	switch {
	case s.kind == explicit:
		of.kind, field = otlpExplicit, 9
	case s.kind == exponential:
		of.kind, field = otlpExponential, 1
	case strings.HasSuffix(of.name, "_total"):
		of.kind = otlpSum
	}
	var resource []byte
	for _, l := range s.Labels {
		if name, ok := otlpAttributes[l.Name]; ok {
			resource = appendAttribute(resource, 1, name, l.Value)
		} else if l.Name != "__name__" {
			of.attributes = appendAttribute(of.attributes, field, l.Name, l.Value)
		}
	}
	of.resource = string(appendAttribute(resource, 1, "telemetry.sdk.language", "go"))
	return of
}

// appendAttribute appends a KeyValue with a string.
func appendAttribute(b []byte, field byte, name, value string) []byte {
	return appendBytes(b, field, appendBytes(appendBytes(nil, 1, name), 2, appendBytes(nil, 1, value)))
}

func (e *otlp) resource(raw string) *otlpResource {
	r := e.byName[raw]
	if r == nil {
		r = &otlpResource{raw: []byte(raw), byName: map[string]*otlpMetric{}}
		e.byName[raw] = r
		e.resources = append(e.resources, r)
	}
	return r
}

func (r *otlpResource) metric(of *otlpSeries) *otlpMetric {
	m := r.byName[of.name]
	if m == nil {
		m = &otlpMetric{name: of.name, kind: of.kind}
		r.byName[of.name] = m
		r.metrics = append(r.metrics, m)
	}
	return m
}

// otlpScope is the InstrumentationScope of all metrics.
var otlpScope = appendBytes(appendBytes(nil, 1, "example.com/agent"), 2, "1.2.3")

func (e *otlp) finish() []byte {
	e.out = e.out[:0]
	for _, r := range e.resources {
		scope := appendBytes(e.a[:0], 1, otlpScope)
		for _, m := range r.metrics {
			scope = appendBytes(scope, 2, e.metric(m))
		}
		e.a = scope
		e.b = appendBytes(appendBytes(e.b[:0], 1, r.raw), 2, scope)
		e.out = appendBytes(e.out, 1, e.b)
	}
	clear(e.resources)
	clear(e.byName)
	e.resources = e.resources[:0]
	return e.out
}

// metric encodes a Metric.
func (e *otlp) metric(m *otlpMetric) []byte {
	if m.kind != otlpGauge {
		m.points = append(m.points, 2<<3, cumulative)
	}
	if m.kind == otlpSum {
		m.points = append(m.points, 3<<3, 1) // monotonic
	}
	e.c = appendBytes(e.c[:0], 1, m.name)
	if strings.Contains(m.name, "_seconds") {
		e.c = appendBytes(e.c, 3, "s")
	}
	e.c = appendBytes(e.c, m.kind, m.points)
	return e.c
}
