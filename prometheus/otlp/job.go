package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// known is the points of a request with their series, as far as these are known, and what is refused.
type known struct {
	*Handler
	message

	share    *writelimits.Share
	of       *translation
	latest   int64 // the last time that a sample may have, milliseconds
	lookup   ingest.Lookup
	key      []byte
	families []*family     // of scopes
	origins  []*family     // of resources
	refs     []storage.Ref // of the samples of points; 0: not known
	unknown  ingest.Unknown
	numbers  []int // of refs in unknown; -1: none. It is as long as refs.
	hashed   int   // bytes of keys that were looked up
	streams  streams

	rejected, reasons, duplicates int
	culprits                      []culprit
}

// conversion names the series that are not known, by the module's converter.
type conversion struct {
	known

	converter *prometheusremotewrite.PrometheusConverter
	captured  capture
	group     []*point
	converted int                         // bytes that were
	messages  int                         // attributes and exemplars of the group that is converted
	labels    int                         // bytes of labels that were made
	metadata  map[string]storage.Metadata // by stored names
}

// job is one request on its way into the store. Later requests reuse its memory.
type job struct {
	conversion

	packed                  bytes.Reader
	body, unpacked, decoded []byte

	starts   []byte               // data of start times in batch
	restarts map[*family]struct{} // with start times in batch
	pending  map[storage.Ref]*total
	batch    storage.Batch
	appended bool
}

// A culprit is what was refused, and why.
type culprit struct{ who, why string }

func newJob(h *Handler) *job {
	return &job{
		conversion: conversion{
			known:     known{Handler: h, share: h.intake.Share()},
			converter: prometheusremotewrite.NewPrometheusConverter(nil), metadata: map[string]storage.Metadata{},
		},
		pending: map[storage.Ref]*total{}, restarts: map[*family]struct{}{},
	}
}

// reset empties the job and keeps its memory.
func (j *job) reset(of *translation) {
	m := &j.message
	for i := range m.metrics {
		m.metrics[i] = metric{}
	}
	clear(m.extras)
	*m = message{
		resources: m.resources[:0], scopes: m.scopes[:0], metrics: m.metrics[:0], points: m.points[:0], extras: m.extras[:0], keys: m.keys[:0],
		room: j.share.Need, maxPoints: j.o.RequestPoints, maxSamples: j.o.RequestSamples,
	}
	clear(j.batch.Objects)
	j.batch.Reset()
	j.unknown.Reset()
	clear(j.metadata)
	clear(j.pending)
	clear(j.restarts)
	j.captured.reset()
	j.streams = streams{}
	j.of, j.decoded, j.labels, j.converted, j.hashed, j.starts = of, nil, 0, 0, 0, j.starts[:0]
	j.families, j.origins, j.refs, j.numbers = j.families[:0], j.origins[:0], j.refs[:0], j.numbers[:0]
	j.rejected, j.reasons, j.duplicates, j.culprits, j.appended = 0, 0, 0, j.culprits[:0], false
}

// pooledJob is how much memory a kept job may have, in bytes.
const pooledJob = 4 << 20

func (j *job) footprint() int {
	return cap(j.body) + cap(j.unpacked) + cap(j.keys) + cap(j.starts) + 160*cap(j.points) + 120*cap(j.extras) + 16*cap(j.refs) +
		24*cap(j.batch.Refs) + 64*(cap(j.batch.Objects)+j.unknown.Cap()+len(j.pending)) + 200*cap(j.captured.samples)
}

// store stores what can be stored. After an error it is not known what has been stored.
func (j *job) store(ctx context.Context) error {
	if err := j.walk(j.decoded); err != nil {
		if own := (httpapi.Error{}); errors.As(err, &own) {
			return err
		}
		return httpapi.WithStatus(http.StatusBadRequest, err)
	}
	j.latest = histogramcodec.LastTime(j.o.Now, j.o.Future)
	j.check()
	if err := j.find(); err != nil {
		return err
	}
	if err := j.convert(); err != nil {
		return err
	}
	query.TurnOf(ctx).End() // other requests decode while the store works
	if err := j.resolve(ctx); err != nil {
		return err
	}
	unlock, err := j.totals.begin(ctx, j)
	if err != nil {
		return err
	}
	defer unlock()
	return j.append(ctx)
}

// append stores the samples.
func (j *job) append(ctx context.Context) error {
	j.fill()
	if err := j.addTargets(ctx); err != nil {
		return err
	}
	if len(j.batch.Refs) > 0 || len(j.batch.Objects) > 0 {
		if err := j.o.Appender.Append(ctx, &j.batch); err != nil {
			j.forgetStarts()
			j.totals.doubt(j.pending)
			if storage.IsRefusal(err) {
				return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("append: %w", err))
			}
			return fmt.Errorf("append: %w", err)
		}
	}
	j.totals.keep(j.pending)
	j.appended = true
	if len(j.metadata) > 0 {
		if err := j.o.Metadata.PutMetadata(ctx, j.metadata); err != nil && !storage.IsRefusal(err) {
			j.forgetStarts() // metadata come with new series alone
			return fmt.Errorf("put metadata: %w", err)
		}
	}
	return nil
}

// forgetStarts has the start times and metadata of the request written with the next one.
func (j *job) forgetStarts() {
	for i := range j.metrics {
		j.key = appendFamilyKey(j.key[:0], j.families[j.metrics[i].scope], &j.metrics[i])
		j.of.families.Forget(string(j.key))
	}
}

// resolve asks the store for the series that are not known.
func (j *job) resolve(ctx context.Context) error {
	if j.unknown.Len() == 0 {
		return nil
	}
	if err := j.unknown.Resolve(ctx, j.o.Appender, j.of.cache); err != nil {
		if failed, ok := errors.AsType[*ingest.FailedError](err); ok {
			err = failed.Err
		}
		return fmt.Errorf("resolve series: %w", err)
	}
	for i := range j.points {
		p := &j.points[i]
		if p.bad != nil {
			continue
		}
		for at := p.refs.from; at < p.refs.to; at++ {
			if j.refs[at] != 0 {
				continue
			}
			ref, err := j.unknown.Answer(j.numbers[at])
			if j.refs[at] = ref; err != nil {
				j.refuse(p, err)
				break
			}
		}
	}
	return nil
}

// maxCulprits is how many refused points are named.
const maxCulprits = 5

// refuse counts a point that cannot be stored.
func (j *known) refuse(p *point, err error) {
	p.bad = err
	j.rejected++
	j.name(p, err)
}

// name names what was refused.
func (j *known) name(p *point, err error) {
	j.reasons++
	if len(j.culprits) < maxCulprits {
		name := strings.ToValidUTF8(string(j.metrics[p.metric].name), "\uFFFD")
		j.culprits = append(j.culprits, culprit{fmt.Sprintf("metric %q", httpapi.Cut(name, 100)), err.Error()})
	}
}

// outcome returns what became of the data points.
func (j *job) outcome(err error) outcome {
	n := len(j.points)
	switch status := (httpapi.Error{}); {
	case err == nil, j.appended:
		return outcome{received: n, written: n - j.rejected, rejected: j.rejected, duplicates: j.duplicates}
	case errors.As(err, &status) && status.Status < http.StatusInternalServerError:
		return outcome{received: n, rejected: n}
	}
	return outcome{received: n, failed: n}
}
