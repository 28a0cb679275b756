package opentsdb

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// job is the points of one read of a connection, or of one request, on their way into the store. Its steps are: begin, then add or
// addUnknown for each point, end, resolve, append; release at last. Where a step says that the store cannot take something now, it can be
// taken again.
type job struct {
	*Ingest
	protocol *protocol
	cache    *ingest.Cache // that lookup is in
	lookup   ingest.Lookup
	batch    *storage.Batch
	unknown  []unknownPoint
	names    []string // unknown to the cache, once each
	series   []storage.Series
	refs     []storage.Ref // by name; 0: not resolved
	errs     []error       // by name; nil: not refused
	pending  map[string]int
	refused  int   // points, that were counted so already
	latest   int64 // the last time that is taken, milliseconds
}

// unknownPoint is a point of a series that is not in the cache.
type unknownPoint struct {
	at     int // in the batch
	name   int // in names
	origin int // what the protocol knows it by
}

func newJob(in *Ingest) *job { return &job{Ingest: in, batch: newBatch(), pending: map[string]int{}} }

// begin begins a run of adds. No series can be added to the cache until it ends, so the caller waits for nobody meanwhile.
func (j *job) begin() {
	j.cache = j.Ingest.cache.Load()
	j.cache.Begin(&j.lookup)
	if j.latest = storage.MaxTime; j.o.MaxFuture > 0 {
		j.latest = j.o.Now().Add(j.o.MaxFuture).UnixMilli()
	}
}

// early refuses a point that is too far ahead of the clock.
func (j *job) early(p point) error {
	if p.time <= j.latest {
		return nil
	}
	return argumentError(fmt.Sprintf("timestamp %d is more than %v in the future (--opentsdb.max-future)", p.time, j.o.MaxFuture))
}

func (j *job) end() { j.lookup.End() }

// find returns the Ref of a key, 0 if it is not in the cache. A key holds all of the metric and the tags, in a way that no other series has.
func (j *job) find(key []byte) storage.Ref { return j.lookup.Find(key) }

// add adds a point whose Ref is known, and which is not early.
func (j *job) add(ref storage.Ref, p point) { addPoint(j.batch, ref, p, j.protocol.floats) }

// addUnknown adds a point of a series that find did not know. parse is asked for the series unless the job has met the key before; what it
// refuses is no part of the job.
func (j *job) addUnknown(key []byte, p point, origin int, parse func() (storage.Series, error)) error {
	if err := j.early(p); err != nil {
		return err
	}
	n, ok := j.pending[string(key)]
	if !ok {
		s, err := parse()
		if err != nil {
			return err
		}
		name := string(key)
		n = len(j.names)
		j.pending[name] = n
		j.names, j.series = append(j.names, name), append(j.series, s)
		j.refs, j.errs = append(j.refs, 0), append(j.errs, nil)
	}
	j.unknown = append(j.unknown, unknownPoint{at: len(j.batch.Refs), name: n, origin: origin})
	addPoint(j.batch, 0, p, j.protocol.floats)
	return nil
}

// resolve gets the Refs of the names that have none. It returns an error when the store cannot give some of them now. Those that it refuses
// for good are told to refuse, point by point, once all others are resolved.
func (j *job) resolve(ctx context.Context, refuse func(origin int, err error)) error {
	if len(j.names) == 0 {
		return nil
	}
	if err := j.resolveNames(ctx); err != nil {
		return err
	}
	for _, u := range j.unknown {
		j.batch.Refs[u.at] = j.refs[u.name]
		if j.refs[u.name] == 0 {
			refuse(u.origin, j.errs[u.name])
		}
	}
	j.dropRefused()
	return nil
}

func (j *job) resolveNames(ctx context.Context) error {
	wanted := make([]int, 0, len(j.names))
	missing := make([]storage.Series, 0, len(j.names))
	for n, ref := range j.refs {
		if ref == 0 && j.errs[n] == nil {
			wanted, missing = append(wanted, n), append(missing, j.series[n])
		}
	}
	refs, errs := j.o.Appender.Resolve(ctx, missing)
	var failed error
	for i, n := range wanted {
		switch {
		case errs == nil || errs[i] == nil:
			j.refs[n] = refs[i]
		case storage.IsRefusal(errs[i]):
			j.errs[n] = errs[i]
		case failed == nil:
			failed = fmt.Errorf("resolve series %q: %w", cut(j.names[n]), errs[i])
		}
	}
	j.cache.Add(j.names, j.refs)
	return failed
}

// dropRefused takes points without a Ref out of the batch.
func (j *job) dropRefused() {
	b, kept := j.batch, 0
	for i, ref := range b.Refs {
		if ref != 0 {
			b.Refs[kept], b.Times[kept], b.Values[kept], b.Forms[kept] = ref, b.Times[i], b.Values[i], b.Forms[i]
			kept++
		}
	}
	j.refused += len(b.Refs) - kept
	b.Refs, b.Times, b.Values, b.Forms = b.Refs[:kept], b.Times[:kept], b.Values[:kept], b.Forms[:kept]
	j.unknown = j.unknown[:0]
}

// append appends the batch and returns when it is durable.
func (j *job) append(ctx context.Context) error {
	if len(j.batch.Refs) == 0 {
		return nil
	}
	return j.committer.commit(ctx, j.batch)
}

// count counts the points of the job whose outcome is err.
func (j *job) count(err error) {
	n := float64(len(j.batch.Refs))
	j.protocol.received.Add(n + float64(j.refused))
	j.protocol.rejected.Add(float64(j.refused))
	switch {
	case err == nil:
		j.protocol.written.Add(n)
	case storage.IsRefusal(err):
		j.protocol.rejected.Add(n)
	default:
		j.protocol.failed.Add(n)
	}
}

const (
	// pooledPoints and pooledNames are how much a job may have held and still keep its memory.
	pooledPoints = 64 << 10
	pooledNames  = 16 << 10
)

// release gives the job back.
func (j *job) release() {
	if cap(j.batch.Refs) > pooledPoints || cap(j.names) > pooledNames {
		return
	}
	j.batch.Reset()
	clear(j.pending)
	clear(j.names)
	clear(j.series)
	clear(j.errs)
	j.unknown, j.names, j.series = j.unknown[:0], j.names[:0], j.series[:0]
	j.refs, j.errs, j.refused, j.cache = j.refs[:0], j.errs[:0], 0, nil
	j.jobs.Put(j)
}

// shownBytes is how much of a client's text is logged or answered where a TSD has no words of its own.
const shownBytes = 256

func cut(s string) string { return s[:min(len(s), shownBytes)] }
