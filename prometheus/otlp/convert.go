package otlp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A convertedSample is what the module makes of a point, or of a part of it.
type convertedSample struct {
	labels    labels.Labels
	histogram *histogram.Histogram
	exemplars []exemplar.Exemplar
	options   promstorage.AppendV2Options
}

// capture is an appender that keeps what the module's converter appends.
type capture struct{ samples []convertedSample }

func (c *capture) reset() {
	clear(c.samples)
	c.samples = c.samples[:0]
}

// Append implements storage.AppenderV2 of the module.
func (c *capture) Append(_ promstorage.SeriesRef, ls labels.Labels, _, _ int64, _ float64, h *histogram.Histogram, _ *histogram.FloatHistogram, o promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	s := convertedSample{labels: ls, histogram: h, options: o}
	if len(o.Exemplars) > 0 {
		s.exemplars = append(s.exemplars, o.Exemplars...) // the converter uses the memory again
	}
	s.options.Exemplars = nil
	c.samples = append(c.samples, s)
	return 0, nil
}

// memory returns about how many bytes the histograms and exemplars of the samples from a number on
// take.
func (c *capture) memory(first int) int {
	sum := 0
	for i := first; i < len(c.samples); i++ {
		s := &c.samples[i]
		if sum += 100 * len(s.exemplars); s.histogram != nil {
			sum += 300 + 16*(len(s.histogram.PositiveBuckets)+len(s.histogram.NegativeBuckets)+len(s.histogram.CustomValues))
		}
	}
	return sum
}

// Commit does nothing.
func (*capture) Commit() error { return nil }

// Rollback does nothing.
func (*capture) Rollback() error { return nil }

// groupPoints and groupBytes are how many points of a scope are converted at once, and their size: one
// point more may come.
const (
	groupPoints = 1000
	groupBytes  = 256 << 10
)

// convert has the module convert the points of unknown series, and those that become histograms or
// have exemplars. Points of one scope are converted together.
func (j *conversion) convert() error {
	for len(j.numbers) < len(j.refs) {
		j.numbers = append(j.numbers, -1)
	}
	group, scope, size := j.group[:0], -1, 0
	for i := range j.points {
		p := &j.points[i]
		if !j.toConvert(p) {
			continue
		}
		if of := j.metrics[p.metric].scope; of != scope || len(group) == groupPoints || size > groupBytes {
			if err := j.convertGroup(group); err != nil {
				return err
			}
			group, scope, size = group[:0], of, 0
		}
		group, size = append(group, p), size+len(p.raw)
	}
	err := j.convertGroup(group)
	clear(group)
	j.group = group[:0]
	return err
}

func (j *conversion) toConvert(p *point) bool {
	if p.bad != nil {
		return false
	}
	if p.exemplars > 0 || j.native(&j.metrics[p.metric]) {
		return true
	}
	return slices.Contains(j.refs[p.refs.from:p.refs.to], 0)
}

// convertGroup converts points of one scope. If the module refuses one of them, each half is
// converted by itself.
func (j *conversion) convertGroup(points []*point) error {
	points, err := j.checkGroup(points)
	if err != nil || len(points) == 0 {
		return err
	}
	first, want := len(j.captured.samples), 0
	for _, p := range points {
		want += p.refs.to - p.refs.from
	}
	err = j.runConverter(points)
	if err == nil {
		err = j.share.Need(j.captured.memory(first))
	}
	if own := (httpapi.Error{}); errors.As(err, &own) {
		return err
	}
	if err == nil && len(j.captured.samples)-first == want {
		return j.spread(points, first)
	}
	clear(j.captured.samples[first:])
	j.captured.samples = j.captured.samples[:first]
	if len(points) == 1 {
		if err == nil {
			err = errors.New("the data point cannot be converted")
		}
		j.refuse(points[0], err)
		return nil
	}
	half := len(points) / 2
	if err := j.convertGroup(points[:half]); err != nil {
		return err
	}
	return j.convertGroup(points[half:])
}

// checkGroup refuses points whose attributes the module cannot decode safely, and returns the
// others.
func (j *conversion) checkGroup(points []*point) ([]*point, error) {
	if len(points) == 0 {
		return nil, nil
	}
	s := &j.scopes[j.metrics[points[0].metric].scope]
	if max(len(j.resources[s.resource].raw), len(s.raw)) > j.o.PointBytes {
		return nil, httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("resource or scope of more than %d bytes", j.o.PointBytes))
	}
	c := attributesCheck{}
	if err := c.message(j.resources[s.resource].raw, 1); err != nil {
		return nil, httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("resource: %w", err))
	}
	if err := c.message(s.raw, 3); err != nil {
		return nil, httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("scope: %w", err))
	}
	good := points[:0]
	for _, p := range points {
		at := fieldsOfPoint(j.metrics[p.metric].kind)
		if err := c.message(p.raw, at.attributes); err != nil {
			j.refuse(p, err)
			continue
		}
		if p.exemplars > 0 {
			j.dropBadExemplars(&c, p, at.exemplars)
		}
		good = append(good, p)
	}
	j.messages = c.messages
	return good, nil
}

// dropBadExemplars removes the exemplars from a point that the module does not take, and names them. It
// would leave the point out for one.
func (j *conversion) dropBadExemplars(c *attributesCheck, p *point, field int32) {
	var kept []byte
	from := 0
	f := wire.FieldsOf(p.raw)
	for f.Next() {
		if f.Number != field || f.Type != wire.Bytes {
			f.Skip()
			continue
		}
		if err := c.exemplar(f.Bytes()); err != nil {
			j.name(p, exemplarError{err})
			kept, from = append(kept, p.raw[from:f.Begin()]...), f.End()
		}
	}
	if from > 0 {
		p.raw = append(kept, p.raw[from:]...)
	}
}

// What the module takes to decode and convert, at most, in bytes: for a byte of a request, in addition
// for a byte of an exponential histogram (the counts of most buckets take one), and for a message.
const (
	decodedMemory = 10
	bucketMemory  = 30
	messageMemory = 100
)

// groupMemory returns about how many bytes the module takes for points that are encoded in b.
func (j *conversion) groupMemory(points []*point, b []byte) int {
	sum := decodedMemory*len(b) + messageMemory*j.messages
	for _, p := range points {
		if j.metrics[p.metric].kind == kindExponential {
			sum += bucketMemory * len(p.raw)
		}
	}
	return sum
}

// convertedBytes is how many bytes of a request are converted. Resources count with each group of
// their points.
const convertedBytes = 256 << 20

// runConverter has the module convert points; captured gets what it makes of them.
func (j *conversion) runConverter(points []*point) error {
	b := j.encodeGroup(points)
	if j.converted += len(b); j.converted > convertedBytes {
		return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("resources of more than %d bytes, counted for each %d data points", convertedBytes, groupPoints))
	}
	memory := j.groupMemory(points, b)
	if err := j.share.Need(memory); err != nil {
		return err
	}
	defer j.share.Give(memory)
	return j.runModule(b, j.of.settings)
}

func (j *conversion) runModule(b []byte, s prometheusremotewrite.Settings) error {
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalProto(b); err != nil {
		return err
	}
	j.converter.Reset(&j.captured)
	defer j.converter.Reset(nil)
	_, err := j.converter.FromMetrics(context.Background(), req.Metrics(), s)
	return err
}

// encodeGroup encodes a request of some points of a scope.
func (j *conversion) encodeGroup(points []*point) []byte {
	s := &j.scopes[j.metrics[points[0].metric].scope]
	b := appendMessage(nil, 1, s.raw)
	for len(points) > 0 {
		n := 1
		for n < len(points) && points[n].metric == points[0].metric {
			n++
		}
		b = appendMessage(b, 2, j.encodeMetric(points[:n]))
		points = points[n:]
	}
	return encodeRequest(j.resources[s.resource].raw, appendMessage(b, 3, s.schema))
}

// encodeMetric encodes some points of a metric.
func (j *conversion) encodeMetric(points []*point) []byte {
	m := &j.metrics[points[0].metric]
	var data []byte
	for _, p := range points {
		data = appendMessage(data, 1, p.raw)
	}
	if m.kind != kindGauge && m.kind != kindSummary {
		data = wire.AppendUint(data, 2, temporalityCumulative) // deltas are summed up
	}
	if m.monotonic {
		data = wire.AppendUint(data, 3, 1)
	}
	of := appendMessage(nil, 1, m.name)
	of = appendMessage(of, 2, m.description)
	of = appendMessage(of, 3, m.unit)
	return appendMessage(of, int(m.kind), data)
}

// encodeRequest encodes a request of one resource and its ScopeMetrics.
func encodeRequest(resource, scopes []byte) []byte {
	return appendMessage(nil, 1, appendMessage(appendMessage(nil, 1, resource), 2, scopes))
}

func appendMessage(b []byte, field int, m []byte) []byte {
	b = binary.AppendUvarint(wire.AppendTag(b, field, wire.Bytes), uint64(len(m)))
	return append(b, m...)
}

// spread gives the converted samples to their points. It translates the labels of unknown series.
func (j *conversion) spread(points []*point, first int) error {
	for _, p := range points {
		p.converted = first
		n := p.refs.to - p.refs.from
		if err := j.nameSeries(p, j.captured.samples[first:first+n]); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// nameSeries translates the labels of the unknown series of a point.
func (j *conversion) nameSeries(p *point, samples []convertedSample) error {
	for n := range samples {
		at := p.refs.from + n
		if j.refs[at] != 0 {
			continue
		}
		s := &samples[n]
		size := s.labels.ByteSize()
		if err := appendable.CheckLabels(s.labels, int(size), j.o.SeriesBytes); err != nil {
			j.refuse(p, err)
			return nil
		}
		key := j.pointKey(p, n)
		if j.labels += int(size) + len(key); j.labels > j.o.LabelBytes {
			return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("labels of more than %d bytes", j.o.LabelBytes))
		}
		if err := j.share.Need(2*int(size) + len(key)); err != nil {
			return err
		}
		j.numbers[at] = j.unknown.Add(string(key), j.o.Names.FromLabels(s.labels))
		j.describe(s)
		s.labels = labels.EmptyLabels()
	}
	return nil
}

// describe keeps the metadata of the metric of a new series.
func (j *conversion) describe(s *convertedSample) {
	if m := s.options.Metadata; !m.IsEmpty() {
		j.metadata[j.o.Names.MetricName(s.options.MetricFamilyName)] = storage.Metadata{Type: string(m.Type), Help: m.Help, Unit: m.Unit}
	}
}
