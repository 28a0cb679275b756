package otlp

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// fill moves what is good into the batch.
func (j *job) fill() {
	for i := range j.points {
		p := &j.points[i]
		if p.bad != nil {
			continue
		}
		m := &j.metrics[p.metric]
		switch {
		case m.delta() && !p.stale:
			j.fillDelta(p)
		case j.native(m):
			j.fillHistogram(p, j.captured.samples[p.converted].histogram, j.startOf(m, p))
		default:
			j.fillFloats(m, p)
		}
		if p.bad == nil {
			j.cover(p)
		}
	}
}

// startOf returns the start time to store with a point, 0: none. The key of a series that counts
// contains its start, so that it is stored once, with the first sample since.
func (j *job) startOf(m *metric, p *point) int64 {
	if m.cumulative() && p.start > 0 && p.start <= p.at && j.numbers[p.refs.from] >= 0 {
		return p.start
	}
	return 0
}

func (j *job) fillFloats(m *metric, p *point) {
	start := j.startOf(m, p)
	n := 0
	j.eachValue(p, func(v float64) {
		if p.stale {
			v = math.Float64frombits(value.StaleNaN)
		}
		j.add(p, n, v, start)
		n++
	})
}

// add adds a sample of the series of a point with a number.
func (j *job) add(p *point, n int, v float64, start int64) {
	ref := j.refs[p.refs.from+n]
	j.batch.Add(ref, p.at, v)
	if start != 0 {
		j.addStart(ref, p.at, start)
	}
	if p.converted >= 0 {
		j.addExemplars(p, ref, &j.captured.samples[p.converted+n])
	}
}

// addStart adds a start time.
func (j *job) addStart(ref storage.Ref, at, start int64) {
	from := len(j.starts)
	j.starts = histogramcodec.AppendStartTime(j.starts, start-at)
	j.addStartData(ref, at, from)
}

// addStartData adds a start time whose data were appended to the starts. The data of all of them share
// one piece of memory.
func (j *job) addStartData(ref storage.Ref, at int64, from int) {
	j.batch.AddObject(ref, at, storage.KindStartTime, j.starts[from:len(j.starts):len(j.starts)])
}

// addExemplars adds the exemplars of a sample. Bad ones are named, and the others go on.
func (j *job) addExemplars(p *point, ref storage.Ref, s *convertedSample) {
	for _, e := range s.exemplars {
		err := appendable.CheckExemplar(e.Labels)
		if err == nil && (e.Ts < 0 || e.Ts > j.latest) {
			err = histogramcodec.TimeError(e.Ts, j.o.Future)
		}
		if err != nil {
			j.name(p, exemplarError{err})
			continue
		}
		if !e.HasTs {
			e.Ts = p.at
		}
		j.batch.AddObject(ref, e.Ts, storage.KindExemplar, histogramcodec.EncodeExemplar(e))
	}
}

type exemplarError struct{ error }

func (e exemplarError) Error() string { return "exemplar: " + e.error.Error() }

// eachValue calls f for the value of each series of a point, in the order of its refs.
func (j *known) eachValue(p *point, f func(v float64)) {
	m := &j.metrics[p.metric]
	if m.kind == kindGauge || m.kind == kindSum {
		f(p.value)
		return
	}
	e := &j.extras[p.extra]
	if m.kind == kindSummary || e.hasSum {
		f(e.sum)
	}
	f(float64(e.count))
	if m.kind == kindSummary {
		for _, v := range e.values {
			f(v)
		}
		return
	}
	below := uint64(0)
	for i := range e.buckets() {
		below += e.bucket(i)
		f(float64(below))
	}
	f(float64(e.count))
}

// fillHistogram adds a native histogram.
func (j *job) fillHistogram(p *point, h *histogram.Histogram, start int64) {
	data, err := histogramcodec.Data(h, nil)
	if err != nil {
		j.refuse(p, err)
		return
	}
	ref := j.refs[p.refs.from]
	j.batch.AddObject(ref, p.at, storage.KindHistogram, data)
	if start != 0 {
		j.addStart(ref, p.at, start)
	}
	j.addExemplars(p, ref, &j.captured.samples[p.converted])
}

// cover notes that a resource has a point.
func (j *job) cover(p *point) {
	r := &j.resources[j.scopes[j.metrics[p.metric].scope].resource]
	if !r.points {
		r.points, r.earliest, r.latest = true, p.at, p.at
		return
	}
	r.earliest, r.latest = min(r.earliest, p.at), max(r.latest, p.at)
}
