package write

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// dataRange is where the data of a series are in the lists of the request.
type dataRange struct{ samples, histograms, exemplars listRange }

// data returns where the data of a series are.
func (r *message) data(i int) dataRange {
	s := &r.series[i]
	if i == 0 {
		return dataRange{listRange{0, s.samples}, listRange{0, s.histograms}, listRange{0, s.exemplars}}
	}
	before := &r.series[i-1]
	return dataRange{
		listRange{before.samples, s.samples}, listRange{before.histograms, s.histograms}, listRange{before.exemplars, s.exemplars},
	}
}

// counts counts the data of the request.
func (r *message) counts() kindCounts {
	c := kindCounts{kindSample: len(r.samples), kindHistogram: len(r.histograms), kindExemplar: len(r.exemplars), kindMetadata: len(r.metadata)}
	if r.version == version2 {
		for i := range r.series {
			if r.hasMetadata(i) {
				c[kindMetadata]++
			}
		}
	}
	return c
}

// storable reports whether a time can be stored.
func (j *incoming) storable(time int64) bool { return time >= 0 && time <= j.latest }

// timeError returns why a time cannot be stored.
func (j *incoming) timeError(time int64) error { return histogramcodec.TimeError(time, j.o.Future) }

// holdsGood reports whether a series has anything that will be stored if its labels are good.
func (j *incoming) holdsGood(i int) bool {
	d := j.req.data(i)
	goodSample := func(s messageSample) bool { return j.storable(s.time) }
	goodHistogram := func(h messageHistogram) bool { return h.err == nil && j.storable(h.time) }
	goodExemplar := func(e messageExemplar) bool {
		_, err := j.exemplarData(&e)
		return err == nil
	}
	return slices.ContainsFunc(j.req.samples[d.samples.start:d.samples.end], goodSample) ||
		slices.ContainsFunc(j.req.histograms[d.histograms.start:d.histograms.end], goodHistogram) ||
		slices.ContainsFunc(j.req.exemplars[d.exemplars.start:d.exemplars.end], goodExemplar)
}

// validateHistograms brings histograms into a form that can be stored, or sets their err.
func (j *incoming) validateHistograms() {
	for i := range j.req.histograms {
		h := &j.req.histograms[i]
		if h.err != nil {
			continue // too large
		}
		if h.ints != nil {
			h.err = histogramcodec.CheckInts(h.ints)
		} else {
			h.err = histogramcodec.CheckFloats(h.floats)
		}
	}
}

// fill moves what is good into the batch and refuses the rest.
func (j *job) fill() {
	n := len(j.req.samples)
	j.batch.Refs, j.batch.Times, j.batch.Values = slices.Grow(j.batch.Refs, n), slices.Grow(j.batch.Times, n), slices.Grow(j.batch.Values, n)
	for i := range j.req.series {
		d := j.req.data(i)
		if j.isDropped(i) {
			continue
		}
		if j.refs[i] == 0 && j.bad[i] != nil {
			j.refuseSeries(i, d)
			continue
		}
		j.fillSamples(i, d.samples)
		if d.histograms.start < d.histograms.end {
			j.fillHistograms(i, d.histograms)
		}
		if d.exemplars.start < d.exemplars.end {
			j.fillExemplars(i, d.exemplars)
		}
	}
}

func (j *job) fillSamples(i int, at listRange) {
	ref := j.refs[i]
	for _, s := range j.req.samples[at.start:at.end] {
		if !j.storable(s.time) {
			j.refuse(kindSample, i, j.timeError(s.time))
			continue
		}
		j.batch.Add(ref, s.time, s.value)
		if s.start != 0 {
			j.addStart(ref, s.time, s.start)
		}
	}
}

func (j *job) fillHistograms(i int, at listRange) {
	ref := j.refs[i]
	for _, h := range j.req.histograms[at.start:at.end] {
		if h.err != nil {
			j.refuse(kindHistogram, i, h.err)
			continue
		}
		if !j.storable(h.time) {
			j.refuse(kindHistogram, i, j.timeError(h.time))
			continue
		}
		var data []byte
		if h.ints != nil {
			data = histogramcodec.EncodeHistogram(h.ints)
		} else {
			data = histogramcodec.EncodeFloatHistogram(h.floats)
		}
		j.batch.AddObject(ref, h.time, storage.KindHistogram, data)
		if h.start != 0 {
			j.addStart(ref, h.time, h.start)
		}
	}
}

// addStart adds a start time. The data of all start times share one piece of memory.
func (j *job) addStart(ref storage.Ref, time, start int64) {
	from := len(j.starts)
	j.starts = histogramcodec.AppendStartTime(j.starts, start-time)
	data := j.starts[from:len(j.starts):len(j.starts)]
	j.batch.AddObject(ref, time, storage.KindStartTime, data)
}

func (j *job) fillExemplars(i int, at listRange) {
	for n := at.start; n < at.end; n++ {
		e := &j.req.exemplars[n]
		data, err := j.exemplarData(e)
		if err != nil {
			j.refuse(kindExemplar, i, fmt.Errorf("exemplar: %w", err))
			continue
		}
		j.batch.AddObject(j.refs[i], e.time, storage.KindExemplar, data)
	}
}

// exemplarData returns an exemplar as it is stored, or why it cannot be stored.
func (j *incoming) exemplarData(e *messageExemplar) (data []byte, err error) {
	if !j.storable(e.time) {
		return nil, j.timeError(e.time)
	}
	if j.labels, err = j.req.exemplarLabels(j.labels[:0], e); err != nil {
		return nil, err
	}
	if err := checkExemplar(j.labels); err != nil {
		return nil, err
	}
	return histogramcodec.EncodeExemplar(exemplar.Exemplar{Labels: toLabels(&j.builder, j.labels), Value: e.value}), nil
}

// refuse counts one refused datum of a series.
func (j *incoming) refuse(k dataKind, i int, err error) {
	j.refused.data[k]++
	j.refused.name(func() string { return j.seriesText(i) }, err)
}

// refuseSeries counts a refused series with all its data.
func (j *incoming) refuseSeries(i int, d dataRange) {
	j.refused.series++
	j.refused.data[kindSample] += int(d.samples.end - d.samples.start)
	j.refused.data[kindHistogram] += int(d.histograms.end - d.histograms.start)
	j.refused.data[kindExemplar] += int(d.exemplars.end - d.exemplars.start)
	if j.req.hasMetadata(i) {
		j.refused.data[kindMetadata]++
	}
	j.refused.name(func() string { return j.seriesText(i) }, j.bad[i])
}

// seriesText returns how an answer names a series.
func (j *incoming) seriesText(i int) string {
	ls, err := j.seriesLabels(i)
	if err != nil {
		return fmt.Sprintf("time series %d", i+1)
	}
	return string(appendLabels(nil, ls))
}

// seriesLabels returns the labels of a series as they were sent. They are valid until the next
// call.
func (j *incoming) seriesLabels(i int) ([]rawLabel, error) {
	key, err := j.req.seriesKey(i, j.o.SeriesBytes)
	if err != nil {
		return nil, err
	}
	defer j.req.forgetKey(key)
	j.labels, err = j.req.keyLabels(j.labels[:0], key)
	return j.labels, err
}
