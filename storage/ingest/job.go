package ingest

import "github.com/tsdbridge/tsdbridge/storage"

// A Job is the points of one write on their way into the store: of one read of a connection, or of
// one request.
//
// Begin begins a run of lookups, and End ends it. In between, the protocol adds each point to
// Batch: with the Ref that Find gives, else by Missing. Ingest.Store stores the job, and Release
// gives it back. A Job is not safe for concurrent use.
type Job struct {
	// Batch is the points. Until Store, those of series that are not in the cache have no Ref.
	Batch *storage.Batch
	// Latest is the last time that a point may have, in milliseconds. It is set by Begin.
	Latest int64
	// Refused counts the points that are no longer in Batch, or never were, since they are refused
	// for good.
	Refused int

	in       *Ingest
	cache    *Cache // that lookup is in
	lookup   Lookup
	unknown  Unknown
	numbers  map[string]int // in unknown, by key
	missing  []missingPoint
	refusals []refusal
	err      error // of the group that the job is in
}

// missingPoint is a point of a series that is not in the cache.
type missingPoint struct {
	at     int // in the batch
	series int // in unknown
	origin int // what the protocol knows it by
}

// refusal is a point whose series the store refused.
type refusal struct{ series, origin int }

// Begin begins a run of lookups. The cache takes no new series until End, so the caller waits for
// nothing in between.
func (j *Job) Begin() {
	j.cache, j.Latest = j.in.cache.Load(), j.in.latest()
	j.cache.Begin(&j.lookup)
}

// End ends a run of lookups.
func (j *Job) End() { j.lookup.End() }

// Find returns the Ref of a series by its key, 0 if it is not in the cache. A key names a series as
// no other series is named.
func (j *Job) Find(key []byte) storage.Ref { return j.lookup.Find(key) }

// Missing announces that the next point of the batch is of a series that Find did not know, and is
// added with Ref 0. It calls series for the series unless the job has had the key before. If series
// returns an error, Missing returns that error, and the point must not be added. origin is what
// EachRefused calls the point if the store refuses its series.
func (j *Job) Missing(key []byte, origin int, series func(key string) (storage.Series, error)) error {
	n, ok := j.numbers[string(key)]
	if !ok {
		name := string(key)
		s, err := series(name)
		if err != nil {
			return err
		}
		n = j.unknown.Add(name, s)
		j.numbers[name] = n
	}
	j.missing = append(j.missing, missingPoint{at: len(j.Batch.Refs), series: n, origin: origin})
	return nil
}

// NewSeries returns how many series of the job are not in the cache.
func (j *Job) NewSeries() int { return j.unknown.Len() }

// assign gives the points of resolved series their Refs, and takes those of refused series out of
// the batch.
func (j *Job) assign() {
	if len(j.missing) == 0 {
		return
	}
	for _, m := range j.missing {
		ref, err := j.unknown.Answer(m.series)
		if j.Batch.Refs[m.at] = ref; err != nil {
			j.refusals = append(j.refusals, refusal{m.series, m.origin})
		}
	}
	j.missing = j.missing[:0]
	if len(j.refusals) > 0 {
		j.dropRefused()
	}
}

func (j *Job) dropRefused() {
	b, kept := j.Batch, 0
	for i, ref := range b.Refs {
		if ref == 0 {
			continue
		}
		b.Refs[kept], b.Times[kept], b.Values[kept] = ref, b.Times[i], b.Values[i]
		if b.Forms != nil {
			b.Forms[kept] = b.Forms[i]
		}
		kept++
	}
	j.Refused += len(b.Refs) - kept
	b.Refs, b.Times, b.Values = b.Refs[:kept], b.Times[:kept], b.Values[:kept]
	if b.Forms != nil {
		b.Forms = b.Forms[:kept]
	}
}

// EachRefused calls f for each point whose series the store refused, in order.
func (j *Job) EachRefused(f func(origin int, err error)) {
	for _, r := range j.refusals {
		_, err := j.unknown.Answer(r.series)
		f(r.origin, err)
	}
}

// EachRefusedPoint calls f for each point whose series the store refused, with the key of the series,
// in order.
func (j *Job) EachRefusedPoint(f func(origin int, key string, err error)) {
	for _, r := range j.refusals {
		_, err := j.unknown.Answer(r.series)
		f(r.origin, j.unknown.keys[r.series], err)
	}
}

// EachRefusedSeries calls f once for each series that the store refused.
func (j *Job) EachRefusedSeries(f func(key string, err error)) { j.unknown.EachRefused(f) }

const (
	// pooledPoints and pooledSeries are how much a job may have held and still keep its memory.
	pooledPoints = 64 << 10
	pooledSeries = 16 << 10
)

// Release gives the job back.
func (j *Job) Release() {
	if cap(j.Batch.Refs) > pooledPoints || j.unknown.Cap() > pooledSeries {
		return
	}
	j.Batch.Reset()
	clear(j.numbers)
	j.unknown.Reset()
	j.missing, j.refusals = j.missing[:0], j.refusals[:0]
	j.Refused, j.cache, j.err = 0, nil, nil
	j.in.jobs.Put(j)
}
