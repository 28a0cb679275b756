package otlp

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// totals are the sums of deltas, by series. They can be forgotten at any time: the newest sample in
// the store is the sum, and its start time is that of the sum.
type totals struct {
	o      Options
	shards [totalShards]chan struct{} // each holds one token: who has it may change the totals of its refs

	mu    sync.RWMutex // guards known
	known *cache.LRU[storage.Ref, *total]
}

// totalShards is how many requests with deltas are served at once, at most. One that waits for the
// store holds the shards of its series.
const totalShards = 64

// lastTimes is how many deltas of a series are remembered, to know them when they are sent again.
const lastTimes = 4

// A total is the sum of the deltas of a series. It does not change.
type total struct {
	start     int64            // of the first delta, milliseconds
	last      int64            // of the last delta, milliseconds
	times     [lastTimes]int64 // of the last deltas, the newest first, nanoseconds
	read      int64            // time of the last delta when the sum was read from the store, milliseconds; -1: it was not
	value     float64
	histogram *histogram.FloatHistogram
}

// floatBytes is about what the sum of a series of floats takes, in bytes.
const floatBytes = 150

// bytes returns about how many bytes the histogram of a sum takes.
func (t *total) bytes() int {
	h := t.histogram
	if h == nil {
		return 0
	}
	return 250 + 8*(len(h.PositiveBuckets)+len(h.NegativeBuckets)+len(h.PositiveSpans)+len(h.NegativeSpans)+len(h.CustomValues))
}

// weight returns for how many series of floats a sum counts.
func (t *total) weight() int { return 1 + t.bytes()/floatBytes }

// sumCopies is how many times its size a native histogram takes while a delta is added to it: the sum,
// which is a copy, as integers, and as it is stored.
const sumCopies = 3

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
	t.known = cache.NewWeightedLRU(max(1, t.o.DeltaSeries/2), func(_ storage.Ref, t *total) int { return t.weight() })
}

func (t *totals) all() *cache.LRU[storage.Ref, *total] {
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
		have, ok := known.Get(ref)
		if !ok {
			missing = append(missing, ref)
			continue
		}
		j.pending[ref] = have
		if err := j.share.Need(sumCopies * have.bytes()); err != nil {
			return err
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
			if err := j.share.Need((sumCopies + 1) * stored.bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedTotal returns the sum that the newest sample of a series is; nil: it is none.
func storedTotal(p *storage.Points) *total {
	t := &total{last: -1, read: -1}
	if n := len(p.Times); n > 0 {
		t.last, t.value = p.Times[n-1], p.Values[n-1]
	}
	for i := range p.Objects {
		o := &p.Objects[i]
		if o.Kind != storage.KindHistogram || o.Time < t.last {
			continue
		}
		h, fh, err := histogramcodec.DecodeHistogram(o.Data)
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
	t.read, t.times[0] = t.last, t.last*nanosOfMilli
	for i := range p.Objects {
		if o := &p.Objects[i]; o.Kind == storage.KindStartTime && o.Time == t.last {
			if delta, nanos, _, err := histogramcodec.DecodeSumStart(o.Data); err == nil {
				t.start = t.last + delta
				t.times[0] += int64(nanos)
			}
		}
	}
	return t
}

// has reports whether a sum contains a delta, as far as it is remembered. Of the deltas that ended in
// the millisecond that was read from the store, at most one began before it.
func (t *total) has(p *point) bool {
	return slices.Contains(t.times[:], p.nanos) || p.at == t.read && !p.short()
}

// lacks reports whether a delta is newer than those in a sum, of which there may be none.
func (t *total) lacks(p *point) bool {
	return t == nil || !t.has(p) && p.nanos > t.times[0]
}

// short reports whether a delta begins and ends in one millisecond. The store, whose times are
// milliseconds, keeps the nanoseconds of those alone: there are no others in practice. A delta that
// does not tell when it began is taken for one, unless its time is a whole millisecond.
func (p *point) short() bool {
	if p.start == 0 {
		return p.nanos%nanosOfMilli != 0
	}
	return p.start == p.at
}

// doubt forgets the sums of a request that failed: a part of it may be durable. They are read from
// the store when they are needed.
func (t *totals) doubt(pending map[storage.Ref]*total) {
	known := t.all()
	for ref := range pending {
		known.Forget(ref)
	}
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
