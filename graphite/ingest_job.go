package graphite

import (
	"context"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// ingestJob is one append on its way into the store, with memory that later ones use again.
type ingestJob struct {
	*Ingest
	writes  []*ingestWrite
	known   *ingest.Cache // that lookup is in
	lookup  ingest.Lookup
	refs    []storage.Ref // by point of all writes; 0: refused
	missing []missingPoint
	names   []string // unknown to the cache
	series  []storage.Series
	errs    []error        // by name; nil: all is well
	pending map[string]int // name -> index in names, negative if it was refused lately
	batch   storage.Batch
}

// missingPoint is a point of a name that the cache does not know.
type missingPoint struct {
	write, point int
	at           int // in refs
	name         int // in names; negative: refused
}

func newIngestJob(in *Ingest) *ingestJob {
	return &ingestJob{Ingest: in, pending: map[string]int{}}
}

// store stores the points of the writes and says in each what became of them.
func (j *ingestJob) store(ctx context.Context, writes []*ingestWrite) {
	defer j.reset()
	j.writes = writes
	j.find()
	j.noteEarly(ctx)
	j.nameMissing()
	j.resolve(ctx)
	j.append(ctx)
	for _, w := range j.writes {
		j.metrics.count(w)
	}
}

// pooledNames is how many new names a job may have met and still keep its memory of them.
const pooledNames = 16 << 10

func (j *ingestJob) reset() {
	if len(j.names) > pooledNames {
		*j = *newIngestJob(j.Ingest)
		return
	}
	clear(j.pending)
	clear(j.names)
	clear(j.series)
	j.batch.Reset()
	j.refs, j.missing, j.names, j.series = j.refs[:0], j.missing[:0], j.names[:0], j.series[:0]
	j.writes, j.errs = nil, nil
}

// find looks all names up in the cache.
func (j *ingestJob) find() {
	j.known = j.cache.Load()
	j.known.Begin(&j.lookup)
	defer j.lookup.End()
	latest := j.latest()
	for w := range j.writes {
		points := j.writes[w].points
		for i := range points {
			if points[i].Time > latest {
				j.writes[w].refused++
				j.refs = append(j.refs, 0)
				continue
			}
			ref := j.lookup.Find(points[i].Name)
			if ref == 0 {
				j.missing = append(j.missing, missingPoint{write: w, point: i, at: len(j.refs)})
			}
			j.refs = append(j.refs, ref)
		}
	}
}

// latest is the last time that is taken, seconds.
func (j *ingestJob) latest() int64 {
	if j.o.MaxFuture == 0 {
		return math.MaxInt64
	}
	return j.o.Now().Add(j.o.MaxFuture).Unix()
}

// noteEarly logs points that are too far ahead of the clock.
func (j *ingestJob) noteEarly(ctx context.Context) {
	early := 0
	for _, w := range j.writes {
		early += w.refused
	}
	if early > 0 {
		j.refused.logPoints(ctx, early, fmt.Errorf("%w: more than %v in the future (--carbon.max-future)", storage.ErrInvalid, j.o.MaxFuture), j.o.Now())
	}
}

// nameMissing translates the names that the cache does not know, each once, but for those that the store refused a short while ago.
func (j *ingestJob) nameMissing() {
	for i := range j.missing {
		m := &j.missing[i]
		name := j.writes[m.write].points[m.point].Name
		n, ok := j.pending[string(name)]
		if !ok {
			key := string(name)
			if n = -1; !j.refused.holds(key, j.o.Now()) {
				n = len(j.names)
				j.names, j.series = append(j.names, key), append(j.series, j.o.Paths(key))
			}
			j.pending[key] = n
		}
		m.name = n
	}
}

// resolve gets the Refs of the new names, in one call. A name that the store refuses takes its points with it; of one that it cannot take
// now, whole writes wait.
func (j *ingestJob) resolve(ctx context.Context) {
	var refs []storage.Ref
	if len(j.names) > 0 {
		refs, j.errs = j.o.Appender.Resolve(ctx, j.series)
		j.known.Add(j.names, refs)
		j.noteRefused(ctx)
	}
	for _, m := range j.missing {
		w := j.writes[m.write]
		switch {
		case m.name < 0:
			w.refused++
		case j.errs == nil || j.errs[m.name] == nil:
			j.refs[m.at] = refs[m.name]
		case storage.IsRefusal(j.errs[m.name]):
			w.refused++
		case w.err == nil:
			w.err = fmt.Errorf("resolve graphite series %q: %w", cutName(j.names[m.name]), j.errs[m.name])
		}
	}
}

func (j *ingestJob) noteRefused(ctx context.Context) {
	for i, err := range j.errs {
		if err != nil && storage.IsRefusal(err) {
			j.refused.add(ctx, j.names[i], err, j.o.Now())
		}
	}
}

// append appends the points of all writes that have not failed. The store does not say which points of a batch it refuses for good; so
// then each write is appended alone, that none pays for another.
func (j *ingestJob) append(ctx context.Context) {
	err := j.appendWrites(ctx, 0, len(j.writes))
	if err == nil {
		return
	}
	for n, w := range j.writes {
		switch {
		case w.err != nil:
			continue
		case storage.IsRefusal(err) && len(j.writes) > 1:
			j.settle(ctx, w, j.appendWrites(ctx, n, n+1))
		default:
			j.settle(ctx, w, err)
		}
	}
}

// settle notes the outcome of an append in a write.
func (j *ingestJob) settle(ctx context.Context, w *ingestWrite, err error) {
	switch {
	case err == nil:
	case storage.IsRefusal(err):
		w.refused = len(w.points)
		j.refused.logPoints(ctx, len(w.points), err, j.o.Now())
	default:
		w.err = err
	}
}

// appendWrites appends the points of some writes in one batch.
func (j *ingestJob) appendWrites(ctx context.Context, from, to int) error {
	j.batch.Reset()
	at := 0
	for n, w := range j.writes {
		if n >= from && n < to && w.err == nil {
			j.fill(w, j.refs[at:])
		}
		at += len(w.points)
	}
	if len(j.batch.Refs) == 0 {
		return nil
	}
	if err := j.o.Appender.Append(ctx, &j.batch); err != nil {
		return fmt.Errorf("append graphite points: %w", err)
	}
	return nil
}

func (j *ingestJob) fill(w *ingestWrite, refs []storage.Ref) {
	for i := range w.points {
		if refs[i] != 0 {
			j.batch.Add(refs[i], w.points[i].Time*1000, w.points[i].Value)
		}
	}
}
