package queryable

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// The lookbacks are how far before a range the preceding sample is searched, in milliseconds: first
// the row before, then a day. A counter that was silent for longer starts anew, as at the start of
// a TSDB chunk.
const (
	shortLookback = 3600 * 1000
	longLookback  = 24 * 3600 * 1000
)

// setHints sets the counter-reset hint of every histogram as Prometheus' TSDB would. It ignores what
// the client claimed, because points may have been added in between, and compares each histogram
// with the sample before it. data[i] are the samples of refs[i] from start on, nil if there are none.
func (p *Store) setHints(ctx context.Context, start int64, refs []storage.Ref, data []*seriesSamples) error {
	before := map[storage.Ref]*histSample{}
	var wanting []storage.Ref
	for i, d := range data {
		if d != nil && d.needsPreceding() {
			wanting = append(wanting, refs[i])
		}
	}
	near := timeSpan{start - shortLookback, start - 1}
	far := timeSpan{start - longLookback, near.start - 1}
	for _, span := range []timeSpan{near, far} {
		wanting = slices.DeleteFunc(wanting, func(ref storage.Ref) bool { return before[ref] != nil })
		if err := p.preceding(ctx, wanting, span.clamp(), before); err != nil {
			return err
		}
	}
	for i, d := range data {
		if d != nil {
			d.setResetHints(before[refs[i]])
		}
	}
	return nil
}

// needsPreceding reports whether the first sample is a histogram whose hint depends on the sample
// before it.
func (s *seriesSamples) needsPreceding() bool {
	if len(s.hists) == 0 || len(s.times) > 0 && s.times[0] < s.hists[0].time {
		return false
	}
	return s.hists[0].hint() != histogram.GaugeType && !s.hists[0].stale()
}

// preceding finds the last sample of each series in a span. A float becomes a histSample without a
// histogram.
func (p *Store) preceding(ctx context.Context, refs []storage.Ref, span timeSpan, into map[storage.Ref]*histSample) error {
	if len(refs) == 0 || span.empty() {
		return nil
	}
	for found, err := range p.store.Select(ctx, storage.Query{Refs: refs, Start: span.start, End: span.end, Samples: true}) {
		if err != nil {
			return err
		}
		last, err := lastSample(found)
		if err != nil {
			return err
		}
		if last != nil {
			into[found.Ref] = last
		}
	}
	return ctx.Err()
}

func lastSample(p storage.Points) (*histSample, error) {
	var last *histSample
	if n := len(p.Times); n > 0 {
		last = &histSample{time: p.Times[n-1]}
	}
	for _, o := range slices.Backward(p.Objects) {
		if o.Kind != storage.KindHistogram {
			continue
		}
		if last != nil && last.time > o.Time {
			break
		}
		h, fh, err := histogramcodec.DecodeHistogram(o.Data)
		if err != nil {
			return nil, unreadable(o, err)
		}
		return &histSample{o.Time, h, fh}, nil
	}
	return last, nil
}

// setResetHints sets the hint of each histogram from the sample before it. before precedes the
// first one and may be nil.
func (s *seriesSamples) setResetHints(before *histSample) {
	var d resetDetector
	floats := s.times
	for i := range s.hists {
		h := &s.hists[i]
		n, _ := slices.BinarySearch(floats, h.time)
		if n > 0 {
			before = &histSample{time: floats[n-1]}
			floats = floats[n:]
		}
		h.setHint(d.hint(before, h))
		before = h
	}
}

func (s *histSample) hint() histogram.CounterResetHint {
	if s.flts != nil {
		return s.flts.CounterResetHint
	}
	return s.ints.CounterResetHint
}

// stale reports whether the sample is a stale marker, which ends a series and has no hint.
func (s *histSample) stale() bool {
	if s.flts != nil {
		return value.IsStaleNaN(s.flts.Sum)
	}
	return s.ints != nil && value.IsStaleNaN(s.ints.Sum)
}

func (s *histSample) setHint(hint histogram.CounterResetHint) {
	if s.flts != nil {
		s.flts.CounterResetHint = hint
	} else {
		s.ints.CounterResetHint = hint
	}
}

// resetDetector compares neighbouring histograms. It reuses the memory of its conversions.
type resetDetector struct{ a, b histogram.FloatHistogram }

// hint returns what a reader may assume about h, which follows prev. It is NotCounterReset where
// the TSDB would have put both into one chunk (chunkenc.HistogramAppender.appendable), and
// UnknownCounterReset elsewhere: the first sample of a chunk has that hint even if a reset was seen
// or claimed, and readers compare by themselves. Gauges stay gauges.
func (d *resetDetector) hint(prev, h *histSample) histogram.CounterResetHint {
	switch {
	case h.stale():
		return histogram.UnknownCounterReset
	case h.hint() == histogram.GaugeType:
		return histogram.GaugeType
	case prev == nil, h.hint() == histogram.CounterReset, !sameKind(prev, h), prev.hint() == histogram.GaugeType:
		return histogram.UnknownCounterReset
	}
	a, b := prev.float(&d.a), h.float(&d.b)
	if prev.stale() || a.Schema != b.Schema || a.ZeroThreshold != b.ZeroThreshold {
		return histogram.UnknownCounterReset
	}
	if histogram.IsCustomBucketsSchema(b.Schema) && !histogram.CustomBucketBoundsMatch(a.CustomValues, b.CustomValues) {
		return histogram.UnknownCounterReset
	}
	if resets(a, b) {
		return histogram.UnknownCounterReset
	}
	return histogram.NotCounterReset
}

func sameKind(a, b *histSample) bool {
	return (a.ints != nil) == (b.ints != nil) && (a.flts != nil) == (b.flts != nil)
}

// resets compares the counts alone and ignores the hint.
func resets(a, b *histogram.FloatHistogram) bool {
	claimed := b.CounterResetHint
	b.CounterResetHint = histogram.UnknownCounterReset
	defer func() { b.CounterResetHint = claimed }()
	return b.DetectReset(a)
}

// float returns a histogram of either kind as one of floats, in buf if it must be converted.
func (s *histSample) float(buf *histogram.FloatHistogram) *histogram.FloatHistogram {
	if s.flts != nil {
		return s.flts
	}
	return s.ints.ToFloat(buf)
}
