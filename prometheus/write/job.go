package write

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// incoming is what a request brings, and what is refused or dropped of it.
type incoming struct {
	*Handler

	share  *writelimits.Share
	req    message
	latest int64         // the last time that a sample may have, milliseconds
	bad    map[int]error // by series of the request

	labels  []rawLabel
	builder labels.ScratchBuilder

	dropped      []bool             // by series of the request; empty: none is
	verdicts     map[string]verdict // of the replicas in the request
	deduplicated kindCounts
	refused      refusals
}

// job is one request on its way into the store. Later requests reuse its memory.
type job struct {
	incoming

	body, decoded []byte

	cache   *ingest.Cache // that lookup is in
	lookup  ingest.Lookup
	refs    []storage.Ref // by series of the request; 0: bad, or without anything to store
	missing []missingSeries
	unknown unknownSeries

	maxLabel int // how many labels of a series memory was taken for
	batch    storage.Batch
	starts   []byte // data of the start times in batch
	metadata map[string]newMetadata

	received kindCounts
	appended bool
}

func newJob(h *Handler) *job {
	return &job{
		incoming: incoming{Handler: h, share: h.intake.Share(), bad: map[int]error{}, builder: labels.NewScratchBuilder(16)},
		metadata: map[string]newMetadata{},
	}
}

// reset empties the job and keeps its memory.
func (j *job) reset(v version) {
	if len(j.bad)+len(j.metadata) > 0 {
		clear(j.bad)
		clear(j.metadata)
	}
	clear(j.missing)
	j.unknown.reset()
	clear(j.labels)
	clear(j.batch.Objects)
	j.req.reset(v)
	j.batch.Reset()
	j.body, j.decoded, j.starts = j.body[:0], j.decoded[:0], j.starts[:0]
	j.refs, j.missing, j.labels = j.refs[:0], j.missing[:0], j.labels[:0]
	j.dropped, j.verdicts, j.maxLabel = j.dropped[:0], nil, 0
	j.received, j.refused, j.deduplicated, j.appended = kindCounts{}, refusals{}, kindCounts{}, false
}

// pooledJob is how much memory a kept job may have, in bytes. Ordinary requests take one or two
// megabytes.
const pooledJob = 4 << 20

func (j *job) footprint() int {
	return cap(j.body) + cap(j.decoded) + cap(j.req.keys) + cap(j.starts) + 4*(cap(j.req.refs)+cap(j.req.exemplarRefs)) +
		24*(cap(j.req.samples)+cap(j.req.symbols)+cap(j.batch.Refs)) + 96*cap(j.req.series) +
		64*(len(j.bad)+cap(j.req.exemplars)+cap(j.req.histograms)+cap(j.batch.Objects)+cap(j.req.metadata)+j.unknown.Cap()+cap(j.missing)) +
		32*cap(j.unknown.tags) + 48*cap(j.labels) + cap(j.dropped)
}

// badMemory is about what the error of a refused series takes, in bytes.
const badMemory = 150

// setBad records why a series is refused.
func (j *incoming) setBad(i int, why error) error {
	j.bad[i] = why
	return j.share.Need(badMemory)
}

// decode walks over the whole body, so that a request with any malformed part is refused before
// anything of it is stored.
func (j *job) decode() error {
	var err error
	before := cap(j.decoded)
	if j.decoded, err = decodeBody(j.decoded, j.body, j.o.decodedBytes(), j.share); err != nil {
		return err
	}
	if cap(j.decoded) != before {
		j.req.forget() // else it would keep the former memory of the body
	}
	if err := j.req.walk(j.decoded, j.o.wire(j.share.Need)); err != nil {
		if own := (httpapi.Error{}); errors.As(err, &own) {
			return own
		}
		return httpapi.WithStatus(http.StatusBadRequest, err)
	}
	j.received = j.req.counts()
	return nil
}

// store stores what can be stored; j.refused is the rest. After an error it is not known what has
// been stored.
func (j *job) store(ctx context.Context) error {
	j.latest = histogramcodec.LastTime(j.o.Now, j.o.Future)
	err := j.deduplicate(ctx)
	if err == nil {
		err = j.storeKept(ctx)
	}
	j.judged(err == nil || isFinal(err))
	return err
}

// isFinal reports whether an error is an answer that no sender repeats a request after.
func isFinal(err error) bool {
	status := httpapi.Error{}
	return errors.As(err, &status) && status.Status < http.StatusInternalServerError
}

// storeKept stores what deduplicate has left.
func (j *job) storeKept(ctx context.Context) error {
	j.validateHistograms()
	if err := j.findSeries(ctx); err != nil {
		return err
	}
	query.TurnOf(ctx).End() // other requests decode while the store works
	for _, step := range []func(context.Context) error{j.resolve, j.append, j.putMetadata} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// append stores samples, histograms and exemplars.
func (j *job) append(ctx context.Context) error {
	j.fill()
	if len(j.batch.Refs) > 0 || len(j.batch.Objects) > 0 {
		err := j.o.Appender.Append(ctx, &j.batch)
		if err != nil && !storage.IsRefusal(err) {
			return fmt.Errorf("append: %w", err)
		}
		if err != nil {
			// The error does not name the refused ones, so none is reported as written.
			metadata := j.refused.data[kindMetadata]
			j.refused.data = j.received.minus(j.deduplicated)
			j.refused.data[kindMetadata] = metadata
			j.refused.name(func() string { return "samples" }, err)
		}
	}
	j.appended = true
	return nil
}

// outcome returns what became of the data, given the error of store.
func (j *job) outcome(err error) outcome {
	o := outcome{received: j.received}
	if err == nil {
		o.rejected, o.deduplicated = j.refused.data, j.deduplicated
		o.written = j.received.minus(o.rejected).minus(o.deduplicated)
		return o
	}
	o.failed = j.received
	if isFinal(err) {
		o.failed, o.rejected = kindCounts{}, j.received
		return o
	}
	if j.appended { // the metadata failed
		o.rejected, o.deduplicated = j.refused.data, j.deduplicated
		o.rejected[kindMetadata], o.deduplicated[kindMetadata] = 0, 0
		o.failed = kindCounts{kindMetadata: j.received[kindMetadata]}
		o.written = j.received.minus(o.rejected).minus(o.failed).minus(o.deduplicated)
	}
	return o
}
