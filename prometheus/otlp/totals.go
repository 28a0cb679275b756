package otlp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/prometheus/object"
	"github.com/tsdbridge/tsdbridge/recent"
	"github.com/tsdbridge/tsdbridge/storage"
)

// totals are the sums of deltas, by series. They can be forgotten at any time: the newest sample in
// the store is the sum, and its start time is that of the sum.
type totals struct {
	o      Options
	shards [totalShards]chan struct{} // each holds one token: who has it may change the totals of its refs

	mu    sync.RWMutex // guards known
	known *recent.Map[storage.Ref, *total]
}

// totalShards is how many requests with deltas are served at once, at most. One that waits for the
// store holds the shards of its series.
const totalShards = 64

// lastTimes is how many deltas of a series are remembered, to know them when they are sent again.
const lastTimes = 4

// A total is the sum of the deltas of a series. It does not change; times are milliseconds.
type total struct {
	start     int64 // of the first delta
	last      int64 // of the last delta
	times     [lastTimes]int64
	value     float64
	histogram *histogram.FloatHistogram
}

func newTotals(o Options) *totals {
	t := &totals{o: o}
	for i := range t.shards {
		t.shards[i] = make(chan struct{}, 1)
	}
	t.forget()
	return t
}

// forget forgets all sums.
func (t *totals) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = recent.New[storage.Ref, *total](max(1, t.o.DeltaSeries/2))
}

func (t *totals) all() *recent.Map[storage.Ref, *total] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known
}

// begin waits for the series of a request with deltas, and reads those sums that are not in memory.
// unlock must be called when the request is durable, or has failed.
func (t *totals) begin(ctx context.Context, j *job) (unlock func(), err error) {
	refs := j.deltaRefs()
	if len(refs) == 0 {
		return func() {}, nil
	}
	var wanted [totalShards]bool
	for _, ref := range refs {
		wanted[ref%totalShards] = true
	}
	var held []chan struct{}
	unlock = func() {
		for _, shard := range held {
			<-shard
		}
	}
	for i, want := range wanted { // all requests take them in this order
		if !want {
			continue
		}
		select {
		case t.shards[i] <- struct{}{}:
			held = append(held, t.shards[i])
		case <-ctx.Done():
			unlock()
			return nil, fmt.Errorf("wait for other requests with these series: %w", ctx.Err())
		}
	}
	if err := t.read(ctx, j, refs); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// deltaRefs returns the series of deltas, each once.
func (j *job) deltaRefs() (refs []storage.Ref) {
	for i := range j.points {
		if p := &j.points[i]; p.bad == nil && j.metrics[p.metric].delta() {
			refs = append(refs, j.refs[p.refs.from:p.refs.to]...)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// read puts the sums of series into pending: those in memory, and those in the store.
func (t *totals) read(ctx context.Context, j *job, refs []storage.Ref) error {
	var missing []storage.Ref
	known := t.all()
	for _, ref := range refs {
		if have, ok := known.Get(ref); ok {
			j.pending[ref] = have
		} else {
			missing = append(missing, ref)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	now := t.o.Now().UnixMilli()
	q := storage.Query{Refs: missing, Start: max(0, now-t.o.DeltaWindow.Milliseconds()), End: storage.MaxTime, Samples: true, Newest: true}
	for points, err := range t.o.Reader.Select(ctx, q) {
		if err != nil {
			return fmt.Errorf("read the sums of deltas: %w", err)
		}
		if stored := storedTotal(&points); stored != nil {
			j.pending[points.Ref] = stored
		}
	}
	return nil
}

// storedTotal returns the sum that the newest sample of a series is; nil: it is none.
func storedTotal(p *storage.Points) *total {
	t := &total{last: -1}
	if n := len(p.Times); n > 0 {
		t.last, t.value = p.Times[n-1], p.Values[n-1]
	}
	for i := range p.Objects {
		o := &p.Objects[i]
		if o.Kind != storage.KindHistogram || o.Time < t.last {
			continue
		}
		h, fh, err := object.DecodeHistogram(o.Data)
		if err != nil {
			return nil
		}
		if h != nil {
			fh = h.ToFloat(nil)
		}
		t.last, t.histogram = o.Time, fh
	}
	if t.last < 0 || value.IsStaleNaN(t.value) || t.histogram != nil && value.IsStaleNaN(t.histogram.Sum) {
		return nil
	}
	for i := range p.Objects {
		if o := &p.Objects[i]; o.Kind == storage.KindStartTime && o.Time == t.last {
			if delta, err := object.DecodeStartTime(o.Data); err == nil {
				t.start = t.last + delta
			}
		}
	}
	t.times[0] = t.last
	return t
}

// keep keeps the sums of a request that is durable.
func (t *totals) keep(pending map[storage.Ref]*total) {
	if len(pending) == 0 {
		return
	}
	known := t.all()
	for ref, sum := range pending {
		known.Put(ref, sum)
	}
}

// errLate says that a delta is older than the sum that has gone on without it.
var errLate = errors.New("delta is not newer than the last one of its series")

// fillDelta adds a delta to its sums and adds these to the batch.
func (j *job) fillDelta(p *point) {
	refs := j.refs[p.refs.from:p.refs.to]
	leader := j.pending[refs[j.leader(p)]]
	switch {
	case leader == nil:
	case slices.Contains(leader.times[:], p.at):
		j.duplicates++ // it was sent again, and its sum is stored
		return
	case p.at <= leader.last:
		j.refuse(p, fmt.Errorf("%w: its time is %s, the last is %s", errLate, text(p.at), text(leader.last)))
		return
	case p.start != 0 && p.start < leader.start:
		j.refuse(p, fmt.Errorf("delta starts at %s, before its series does at %s", text(p.start), text(leader.start)))
		return
	}
	if j.native(&j.metrics[p.metric]) {
		j.fillDeltaHistogram(p, leader)
		return
	}
	goes := leader != nil && !slices.ContainsFunc(refs, func(ref storage.Ref) bool {
		t := j.pending[ref]
		return t == nil || t.last != leader.last || t.histogram != nil
	})
	n := 0
	j.eachValue(p, func(v float64) {
		t := p.total(leader, goes)
		if t.value = v; goes {
			t.value += j.pending[refs[n]].value
		}
		j.pending[refs[n]] = t
		j.add(p, n, t.value, t.begins(goes))
		n++
	})
}

// text returns a time as people read it.
func text(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// leader returns the number of the series whose sum decides: the count of a histogram.
func (j *job) leader(p *point) int {
	if m := &j.metrics[p.metric]; m.kind == kindHistogram && !j.native(m) && j.extras[p.extra].hasSum {
		return 1
	}
	return 0
}

// total returns a sum without its value, after a delta that goes on from one before or begins anew.
func (p *point) total(before *total, goes bool) *total {
	t := &total{start: p.start, last: p.at}
	if goes {
		t.start = before.start
	}
	if before != nil {
		copy(t.times[1:], before.times[:])
	}
	t.times[0] = p.at
	return t
}

// begins returns the start time to store with a sum, 0 if an earlier sample has it.
func (t *total) begins(goes bool) int64 {
	if goes || t.start > t.last {
		return 0
	}
	return t.start
}

// fillDeltaHistogram adds a native histogram to its sum.
func (j *job) fillDeltaHistogram(p *point, before *total) {
	h := j.captured.samples[p.converted].histogram
	if _, err := object.Data(h, nil); err != nil {
		j.refuse(p, err)
		return
	}
	sum := h.ToFloat(nil)
	goes := before != nil && before.histogram != nil && sameBuckets(before.histogram, sum)
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
	j.fillHistogram(p, whole, t.begins(goes))
	if p.bad == nil {
		j.pending[j.refs[p.refs.from]] = t
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
