package ingest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Options are what an Ingest needs.
type Options struct {
	Appender storage.Appender
	// CacheEntries is --storage.series-cache: how many series are found by their bytes.
	CacheEntries int
	// Appends is how many appends, and how many calls for new series, run at once; 0: 4.
	Appends int
	// MaxFuture is how far ahead of the clock a point may be; 0: no limit.
	MaxFuture time.Duration
	// Now is needed with MaxFuture.
	Now func() time.Time
	// Forms makes points keep the form in which they came, as those of OpenTSDB's protocols do.
	Forms bool
}

const defaultAppends = 4

// An Ingest stores points that come in many small writes, each with series named by bytes. Writes
// that come at once share an append, and a call for new series. It is safe for concurrent use.
type Ingest struct {
	o        Options
	cache    atomic.Pointer[Cache]
	jobs     sync.Pool // *Job, empty
	resolves *Groups[struct{}, *Job]
	appends  *Groups[*storage.Batch, *Job] // slots are memory for the appends
}

// New returns an Ingest over a store.
func New(o Options) *Ingest {
	if o.Appends <= 0 {
		o.Appends = defaultAppends
	}
	in := &Ingest{o: o}
	in.jobs.New = func() any { return &Job{in: in, Batch: in.newBatch(), numbers: map[string]int{}} }
	in.DropCaches()
	scratch := make([]*storage.Batch, o.Appends)
	for i := range scratch {
		scratch[i] = in.newBatch()
	}
	in.appends = NewGroups(scratch, func(j *Job) int { return len(j.Batch.Refs) }, in.appendGroup, abandon)
	in.resolves = NewGroups(make([]struct{}, o.Appends), func(j *Job) int { return j.unknown.Len() }, in.resolveGroup, abandon)
	return in
}

func (in *Ingest) newBatch() *storage.Batch {
	b := new(storage.Batch)
	if in.o.Forms {
		b.Forms = []storage.Form{}
	}
	return b
}

// DropCaches forgets which series there are: all are resolved again when they are met.
func (in *Ingest) DropCaches() { in.cache.Store(NewCache(in.o.CacheEntries)) }

// Job returns an empty job. Release gives it back.
func (in *Ingest) Job() *Job { return in.jobs.Get().(*Job) }

// Store makes the points of a job durable. It returns nil when they are, except those of series
// that the store refused. An error for which storage.IsRefusal holds refuses all points for good.
// Any other error means that nothing is known to be stored, and Store may be called again with the
// same job.
func (in *Ingest) Store(ctx context.Context, j *Job) error {
	if err := in.resolve(ctx, j); err != nil {
		return err
	}
	j.assign()
	if len(j.Batch.Refs) == 0 {
		return nil
	}
	if err := in.appends.Do(ctx, j); err != nil {
		return err
	}
	return j.err
}

func (in *Ingest) resolve(ctx context.Context, j *Job) error {
	if j.unknown.left == 0 {
		return nil
	}
	if err := in.resolves.Do(ctx, j); err != nil {
		return err
	}
	return j.err
}

// abandon tells jobs that the context of the one that led them ended before its turn came.
func abandon(jobs []*Job, err error) {
	for _, j := range jobs {
		j.err = err
	}
}

// resolveGroup asks the store for the unknown series of all jobs in one call.
func (in *Ingest) resolveGroup(ctx context.Context, slot struct{}, jobs []*Job) struct{} {
	if len(jobs) == 1 {
		jobs[0].err = jobs[0].unknown.Resolve(ctx, in.o.Appender, jobs[0].cache)
		return slot
	}
	var all Unknown
	numbers := map[string]int{}
	for _, j := range jobs {
		j.unknown.each(func(key string, s storage.Series) {
			if _, twice := numbers[key]; !twice {
				numbers[key] = all.Add(key, s)
			}
		})
	}
	refs, errs := in.o.Appender.Resolve(ctx, all.series)
	for _, j := range jobs {
		j.err = j.unknown.takeFrom(j.cache, numbers, refs, errs)
	}
	return slot
}

// appendGroup appends the batches of jobs as one. The store does not report which points of a
// batch it refuses. So if it refuses the whole, appendGroup appends each batch by itself: a job
// never fails because of another one.
func (in *Ingest) appendGroup(ctx context.Context, scratch *storage.Batch, jobs []*Job) *storage.Batch {
	if len(jobs) == 1 {
		jobs[0].err = in.append(ctx, jobs[0].Batch)
		return scratch
	}
	scratch.Reset()
	for _, j := range jobs {
		join(scratch, j.Batch)
	}
	err := in.append(ctx, scratch)
	for _, j := range jobs {
		j.err = err
		if err != nil && storage.IsRefusal(err) {
			j.err = in.append(ctx, j.Batch)
		}
	}
	if cap(scratch.Refs) > 2*GroupPoints {
		return in.newBatch()
	}
	return scratch
}

func (in *Ingest) append(ctx context.Context, b *storage.Batch) error {
	if err := in.o.Appender.Append(ctx, b); err != nil {
		return fmt.Errorf("append %d points: %w", len(b.Refs), err)
	}
	return nil
}

// latest returns the last time that is taken, in milliseconds.
func (in *Ingest) latest() int64 {
	if in.o.MaxFuture <= 0 {
		return math.MaxInt64
	}
	return in.o.Now().Add(in.o.MaxFuture).UnixMilli()
}

// join appends the points of another batch.
func join(b, other *storage.Batch) {
	b.Refs = append(b.Refs, other.Refs...)
	b.Times = append(b.Times, other.Times...)
	b.Values = append(b.Values, other.Values...)
	if b.Forms != nil {
		b.Forms = append(b.Forms, other.Forms...)
	}
}
