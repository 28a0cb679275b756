package otlp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// errLate says that a delta is older than the sum that has gone on without it.
var errLate = errors.New("delta is not newer than the last one of its series")

// fillDelta adds a delta to its sums and adds these to the batch.
func (j *job) fillDelta(p *point) {
	refs := j.refs[p.refs.from:p.refs.to]
	leader := j.pending[refs[j.leader(p)]]
	again := leader != nil && leader.has(p)
	beside := again && j.streams.beside(j, p)
	torn := !beside && j.torn(p, refs)
	switch {
	case torn || leader == nil:
	case again && !beside:
		j.duplicates++ // it was sent again, and its sum is stored
		return
	case p.nanos < leader.times[0] || p.nanos == leader.times[0] && !beside:
		j.refuse(p, fmt.Errorf("%w: its time is %s, the last is %s", errLate, text(p.at), text(leader.last)))
		return
	case p.start != 0 && p.start < leader.start:
		j.refuse(p, fmt.Errorf("delta starts at %s, before its series does at %s", text(p.start), text(leader.start)))
		return
	}
	switch {
	case torn:
		j.fillTorn(p, refs)
	case j.native(&j.metrics[p.metric]):
		j.fillDeltaHistogram(p, leader, beside)
	default:
		j.fillDeltaFloats(p, refs, leader, beside)
	}
	if p.bad == nil && !torn {
		p.added = true
		j.streams.added(j, p)
	}
}

var errBeside = errors.New("another histogram of this request has the same labels and time, and other buckets (scopes are apart with promote_scope_metadata)")

// fillDeltaFloats adds a delta to the sums of its series. One beside others of the request only goes on.
func (j *job) fillDeltaFloats(p *point, refs []storage.Ref, leader *total, beside bool) {
	goes := leader != nil && !slices.ContainsFunc(refs, func(ref storage.Ref) bool {
		t := j.pending[ref]
		return t == nil || t.last != leader.last || t.histogram != nil
	})
	if beside && !goes {
		j.refuse(p, errBeside)
		return
	}
	n := 0
	j.eachValue(p, func(v float64) {
		j.addDelta(p, n, v, leader, goes)
		n++
	})
}

// addDelta adds a delta to the sum of one series, which goes on from before or begins anew.
func (j *job) addDelta(p *point, n int, v float64, before *total, goes bool) {
	ref := j.refs[p.refs.from+n]
	t := p.total(before, goes)
	if t.value = v; goes {
		t.value += j.pending[ref].value
	}
	j.pending[ref] = t
	j.add(p, n, t.value, 0)
	j.addSumStart(p, ref, t, goes)
}

// addSumStart adds the start time of a sum, if no earlier sample has it. That of a short delta has the
// nanoseconds in which it ended.
func (j *job) addSumStart(p *point, ref storage.Ref, t *total, goes bool) {
	switch start := t.start; {
	case p.short() || t.times[1]/nanosOfMilli == p.at:
		if start > p.at {
			start = 0
		}
		from := len(j.starts)
		j.starts = histogramcodec.AppendSumStart(j.starts, start-p.at, int(p.nanos%nanosOfMilli))
		j.addStartData(ref, p.at, from)
	case !goes && start != 0 && start <= p.at:
		j.addStart(ref, p.at, start)
	}
}

// torn reports whether some of the sums of a point have its delta and others do not: the store took
// a part of a request, and the sender sends it again.
func (j *job) torn(p *point, refs []storage.Ref) bool {
	have, lack := false, false
	for _, ref := range refs {
		switch t := j.pending[ref]; {
		case t.lacks(p):
			lack = true
		case t.last == p.at:
			have = true
		}
	}
	return have && lack
}

// fillTorn adds a delta to those of its sums that lack it. They begin anew if the others did.
func (j *job) fillTorn(p *point, refs []storage.Ref) {
	began := slices.ContainsFunc(refs, func(ref storage.Ref) bool {
		t := j.pending[ref]
		return t != nil && t.last == p.at && t.start != 0 && t.start == p.start
	})
	n := 0
	j.eachValue(p, func(v float64) {
		if t := j.pending[refs[n]]; t.lacks(p) {
			j.addDelta(p, n, v, t, t != nil && t.histogram == nil && !began)
		}
		n++
	})
}

// text returns a time as people read it.
func text(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// leader returns the number of the series whose sum decides: the count of a histogram.
func (j *known) leader(p *point) int {
	if m := &j.metrics[p.metric]; m.kind == kindHistogram && !j.native(m) && j.extras[p.extra].hasSum {
		return 1
	}
	return 0
}

// total returns a sum without its value, after a delta that goes on from one before or begins anew.
func (p *point) total(before *total, goes bool) *total {
	t := &total{start: p.start, last: p.at, read: -1}
	if goes {
		t.start = before.start
	}
	if before != nil {
		t.read, t.times = before.read, before.times
	}
	if t.times[0] != p.nanos {
		copy(t.times[1:], t.times[:])
		t.times[0] = p.nanos
	}
	return t
}

// fillDeltaHistogram adds a native histogram to its sum.
func (j *job) fillDeltaHistogram(p *point, before *total, beside bool) {
	h := j.captured.samples[p.converted].histogram
	if _, err := histogramcodec.Data(h, nil); err != nil {
		j.refuse(p, err)
		return
	}
	sum := h.ToFloat(nil)
	goes := before != nil && before.histogram != nil && sameBuckets(before.histogram, sum)
	if beside && !goes {
		j.refuse(p, errBeside)
		return
	}
	if goes {
		added, _, _, err := before.histogram.Copy().Add(sum)
		if err != nil {
			j.refuse(p, err)
			return
		}
		sum = added.Compact(0)
	}
	whole := wholeHistogram(sum)
	if whole == nil {
		j.refuse(p, errors.New("the sum of the histograms has counts above 2^53"))
		return
	}
	t := p.total(before, goes)
	t.histogram = sum
	j.fillHistogram(p, whole, 0)
	if p.bad == nil {
		ref := j.refs[p.refs.from]
		j.pending[ref] = t
		j.addSumStart(p, ref, t, goes)
	}
}

// sameBuckets reports whether two histograms can be added without loss: with custom buckets, these
// must be the same.
func sameBuckets(a, b *histogram.FloatHistogram) bool {
	return a.UsesCustomBuckets() == b.UsesCustomBuckets() && slices.Equal(a.CustomValues, b.CustomValues)
}

// wholeHistogram returns a histogram whose counts are whole numbers as one of integers; nil: they
// are too large.
func wholeHistogram(f *histogram.FloatHistogram) *histogram.Histogram {
	h := &histogram.Histogram{
		Schema: f.Schema, ZeroThreshold: f.ZeroThreshold, ZeroCount: uint64(f.ZeroCount), Count: uint64(f.Count), Sum: f.Sum,
		PositiveSpans: f.PositiveSpans, NegativeSpans: f.NegativeSpans, CustomValues: f.CustomValues,
		PositiveBuckets: deltasOf(f.PositiveBuckets), NegativeBuckets: deltasOf(f.NegativeBuckets),
	}
	if f.Count > 1<<53 || math.IsNaN(f.Count) {
		return nil
	}
	return h
}

func deltasOf(counts []float64) (deltas []int64) {
	before := int64(0)
	for _, c := range counts {
		deltas = append(deltas, int64(c)-before)
		before = int64(c)
	}
	return deltas
}
