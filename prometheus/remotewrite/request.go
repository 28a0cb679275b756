package remotewrite

import (
	"github.com/golang/snappy"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A request is a body of remote write, and what it has.
type request struct {
	body                           []byte
	samples, histograms, exemplars int
}

// An encoder makes requests of items, for one goroutine.
type encoder struct {
	s        *sender
	metadata map[string]storage.Metadata // of 2.0
	starts   map[place]int64             // of 2.0; they may come in the request after that of their samples
}

// encode returns the request of some items.
func (e *encoder) encode(items []item) (request, error) {
	if e.s.config.ProtobufMessage == remoteapi.WriteV2MessageType {
		return e.v2(items)
	}
	return e.v1(items)
}

// v1 returns a request of remote write 1.0, which has no start times.
func (e *encoder) v1(items []item) (r request, err error) {
	var w prompb.WriteRequest
	numbers := map[*target]int{}
	for _, it := range items {
		n, ok := numbers[it.target]
		if !ok {
			n = len(w.Timeseries)
			numbers[it.target] = n
			w.Timeseries = append(w.Timeseries, prompb.TimeSeries{Labels: prompb.FromLabels(it.labels, nil)})
		}
		ts := &w.Timeseries[n]
		switch it.kind {
		case kindFloat:
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: it.time, Value: it.value, XXX_unrecognized: minusZero(sampleValue, it.value)})
			r.samples++
		case storage.KindHistogram:
			h, fh, err := histogramcodec.DecodeHistogram(it.data)
			switch {
			case err != nil:
				e.s.d.metrics.drop(dropForm, 1)
				continue
			case h != nil:
				ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(it.time, h))
			default:
				ts.Histograms = append(ts.Histograms, prompb.FromFloatHistogram(it.time, fh))
			}
			last := &ts.Histograms[len(ts.Histograms)-1]
			last.XXX_unrecognized = minusZero(histogramcodec.HistogramSum, last.Sum)
			r.histograms++
		case storage.KindExemplar:
			x, err := histogramcodec.DecodeExemplar(it.data)
			if err != nil {
				e.s.d.metrics.drop(dropForm, 1)
				continue
			}
			ts.Exemplars = append(ts.Exemplars, prompb.Exemplar{Labels: prompb.FromLabels(x.Labels, nil), Value: x.Value, Timestamp: it.time, XXX_unrecognized: minusZero(histogramcodec.ExemplarValue, x.Value)})
			r.exemplars++
		}
	}
	return r.packed(w.Marshal())
}

// v2 returns a request of remote write 2.0. A series of it has samples or histograms, not both.
func (e *encoder) v2(items []item) (r request, err error) {
	type key struct {
		*target
		histograms bool
	}
	symbols := writev2.NewSymbolTable()
	var w writev2.Request
	numbers := map[key]int{}
	of := func(it item, histograms bool) *writev2.TimeSeries {
		k := key{it.target, histograms}
		n, ok := numbers[k]
		if !ok {
			n = len(w.Timeseries)
			numbers[k] = n
			w.Timeseries = append(w.Timeseries, writev2.TimeSeries{
				LabelsRefs: symbols.SymbolizeLabels(it.labels, nil), Metadata: e.describe(&symbols, it.metric),
			})
		}
		return &w.Timeseries[n]
	}
	for _, it := range items {
		start := e.starts[place{it.target, it.time}]
		switch it.kind {
		case kindFloat:
			ts := of(it, false)
			ts.Samples = append(ts.Samples, writev2.Sample{Timestamp: it.time, Value: it.value, StartTimestamp: start, XXX_unrecognized: minusZero(sampleValue, it.value)})
			r.samples++
		case storage.KindHistogram:
			h, fh, err := histogramcodec.DecodeHistogram(it.data)
			if err != nil {
				e.s.d.metrics.drop(dropForm, 1)
				continue
			}
			ts := of(it, true)
			if h != nil {
				ts.Histograms = append(ts.Histograms, writev2.FromIntHistogram(start, it.time, h))
			} else {
				ts.Histograms = append(ts.Histograms, writev2.FromFloatHistogram(start, it.time, fh))
			}
			last := &ts.Histograms[len(ts.Histograms)-1]
			last.XXX_unrecognized = minusZero(histogramcodec.HistogramSum, last.Sum)
			r.histograms++
		case storage.KindExemplar:
			x, err := histogramcodec.DecodeExemplar(it.data)
			if err != nil {
				e.s.d.metrics.drop(dropForm, 1)
				continue
			}
			_, histograms := numbers[key{it.target, true}]
			ts := of(it, histograms)
			ts.Exemplars = append(ts.Exemplars, writev2.Exemplar{LabelsRefs: symbols.SymbolizeLabels(x.Labels, nil), Value: x.Value, Timestamp: it.time, XXX_unrecognized: minusZero(histogramcodec.ExemplarValue, x.Value)})
			r.exemplars++
		}
	}
	w.Symbols = symbols.Symbols()
	return r.packed(w.Marshal())
}

// sampleValue is the field number of the value of a sample, in both versions.
const sampleValue = 1

// minusZero returns a field whose value is -0, nil for others. The generated code leaves a value
// out that equals 0, as -0 does. What it does not know of a message it writes as it is.
func minusZero(field int, v float64) []byte {
	if v != 0 {
		return nil
	}
	return wire.AppendDouble(nil, field, v) // nothing for 0
}

// A place is an instant of a series.
type place struct {
	*target
	time int64
}

// startsOf returns the start times of samples, in milliseconds.
func startsOf(items []item) map[place]int64 {
	var starts map[place]int64
	for _, it := range items {
		if it.kind != storage.KindStartTime {
			continue
		}
		if delta, err := histogramcodec.DecodeStartTime(it.data); err == nil {
			if starts == nil {
				starts = map[place]int64{}
			}
			starts[place{it.target, it.time}] = it.time + delta
		}
	}
	return starts
}

// describe returns the metadata of a metric.
func (e *encoder) describe(symbols *writev2.SymbolsTable, metric string) writev2.Metadata {
	m, ok := e.metadata[metric]
	if !ok {
		return writev2.Metadata{}
	}
	return writev2.Metadata{
		Type: writev2.FromMetadataType(model.MetricType(m.Type)), HelpRef: symbols.Symbolize(m.Help), UnitRef: symbols.Symbolize(m.Unit),
	}
}

func (r request) packed(body []byte, err error) (request, error) {
	if err != nil {
		return request{}, err
	}
	r.body = snappy.Encode(nil, body)
	return r, nil
}

// metadataRequests returns the requests of remote write 1.0 that describe metrics, each with so many.
func metadataRequests(all map[string]storage.Metadata, nameOf func(stored string) string, most int) (requests []request, err error) {
	var w prompb.WriteRequest
	end := func() error {
		r, err := request{}.packed(w.Marshal())
		requests, w.Metadata = append(requests, r), w.Metadata[:0]
		return err
	}
	for stored, m := range all {
		w.Metadata = append(w.Metadata, prompb.MetricMetadata{
			MetricFamilyName: nameOf(stored), Type: prompb.FromMetadataType(model.MetricType(m.Type)), Help: m.Help, Unit: m.Unit,
		})
		if len(w.Metadata) >= most {
			if err := end(); err != nil {
				return nil, err
			}
		}
	}
	if len(w.Metadata) > 0 {
		err = end()
	}
	return requests, err
}

// nameOfMetric returns the name of the metric of a stored name.
func nameOfMetric(toLabels func(storage.Series) labels.Labels) func(stored string) string {
	return func(stored string) string {
		return toLabels(storage.Series{Metric: stored}).Get(model.MetricNameLabel)
	}
}
