package adapter

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// writeJob is one request on its way into the store, with memory that the next one uses again.
type writeJob struct {
	*writeHandler
	body, decoded []byte
	req           wireRequest
	latest        int64 // the last time that a sample may have, milliseconds

	cache   *seriesCache
	lookup  seriesLookup
	refs    []storage.Ref // by series; 0: refused, or nothing to store
	bad     []error       // by series, empty while all are good
	unknown []unknownSeries
	wanting []wanting
	pending map[string]int // key -> index in unknown

	labels  []rawLabel
	builder labels.ScratchBuilder
	batch   storage.Batch
	starts  []byte // data of the start times in batch

	metadata map[string]storage.Metadata // by stored metric name
	received kindCounts
	refused  refusals
}

// unknownSeries is a series that the cache does not know.
type unknownSeries struct {
	key    string
	series storage.Series
	ref    storage.Ref
	err    error
}

// wanting is a series of the request that is unknown[unknown].
type wanting struct{ series, unknown int }

// reset empties the job and keeps its memory.
func (j *writeJob) reset(v wireVersion) {
	clear(j.bad)
	clear(j.unknown)
	clear(j.pending)
	clear(j.metadata)
	clear(j.batch.Objects)
	j.req.reset(v)
	j.batch.Reset()
	j.cache = j.caches[v]
	j.body, j.decoded, j.starts = j.body[:0], j.decoded[:0], j.starts[:0]
	j.refs, j.bad, j.unknown, j.wanting = j.refs[:0], j.bad[:0], j.unknown[:0], j.wanting[:0]
	j.received, j.refused = kindCounts{}, refusals{}
}

// write stores what was walked over. Its error is ours: nothing is known to be stored. What the sender did wrong is in j.refused.
func (j *writeJob) write(ctx context.Context) error {
	j.latest = j.lastTime()
	j.judgeHistograms()
	if err := j.findSeries(); err != nil {
		return err
	}
	if err := j.resolve(ctx); err != nil {
		return err
	}
	if err := j.fill(); err != nil {
		return err
	}
	if err := j.append(ctx); err != nil {
		return err
	}
	return j.putMetadata(ctx)
}

// lastTime is the last time in milliseconds that is stored now.
func (j *writeJob) lastTime() int64 {
	if j.o.Limits.Future == 0 {
		return storage.MaxTime
	}
	return min(storage.MaxTime, j.o.Now().Add(j.o.Limits.Future).UnixMilli())
}

// findSeries gives each series its Ref, or finds out that it is bad or unknown.
func (j *writeJob) findSeries() error {
	n := len(j.req.series)
	j.refs = append(j.refs, make([]storage.Ref, n)...)
	missing, err := j.findKnown()
	if err != nil {
		return err
	}
	_ = missing
	return nil
}

// append stores the batch.
func (j *writeJob) append(ctx context.Context) error {
	if len(j.batch.Refs) == 0 && len(j.batch.Objects) == 0 {
		return nil
	}
	err := j.o.Appender.Append(ctx, &j.batch)
	switch {
	case err == nil:
		return nil
	case !isSenders(err):
		return fmt.Errorf("append: %w", err)
	}
	return nil
}

// isSenders says whether an error of the store is the sender's: the same data would be refused again.
func isSenders(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	return errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrLimit)
}
