// Package write receives Prometheus' remote write 1.0 and 2.0 and appends what can be stored. It
// reads nothing back.
package write

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/ingest/listen"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/refused"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/turns"
)

// Names translates labels into stored names.
type Names interface {
	// FromPairs returns the series of labels, whose names are sorted and distinct; it may use the
	// memory of pairs.
	FromPairs(pairs []storage.Tag) storage.Series
	MetricName(name string) string
}

// metadataWriter stores metadata by stored metric name. It returns when all of it is durable. A
// call may be repeated.
type metadataWriter interface {
	PutMetadata(ctx context.Context, metadata map[string]storage.Metadata) error
}

// Handler receives remote write 1.0 and 2.0. It answers 204 when all of a request is durable, 400
// when a part can never be stored and the rest is durable, and 503 when the sender should try
// again. It stores nothing of a request with a malformed part. It never answers 429 or another 4xx
// to a request that should be sent again, because Prometheus drops such a batch.
type Handler struct {
	o       Options
	gate    *listen.Gate
	caches  [version2 + 1]atomic.Pointer[ingest.Cache]
	turns   *turns.Turns // of large requests, to decode them
	metrics *doorMetrics
	jobs    sync.Pool // of *job
}

// New returns the handler of remote write.
func New(o Options) *Handler {
	h := &Handler{o: o, gate: listen.NewGate(o.Requests, o.InFlightBytes), turns: turns.New(runtime.GOMAXPROCS(0) / 2)}
	h.DropCaches()
	h.metrics = newDoorMetrics(o.Registerer, h.gate)
	h.jobs.New = func() any { return newJob(h) }
	return h
}

// Gate returns what bounds the requests and their bytes. Other doors for writes share it.
func (h *Handler) Gate() *listen.Gate { return h.gate }

// DropCaches forgets the series of label blocks. Each series is resolved again when it occurs next.
func (h *Handler) DropCaches() {
	for v := range h.caches {
		h.caches[v].Store(ingest.NewCache(h.o.SeriesCache))
	}
}

// answer is the answer to a request.
type answer struct {
	protocol string
	status   int
	text     string
	retry    bool
	v2       bool // report what was written, which confuses older senders of 1.0
	written  kindCounts
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	reply := h.serve(w, r)
	reply.send(w)
	h.metrics.observe(reply.protocol, reply.status, time.Since(begin))
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) answer {
	if r.Method != http.MethodPost {
		return answer{protocol: "unknown", status: http.StatusMethodNotAllowed, text: "remote write wants POST"}
	}
	version, err := versionOf(r.Header)
	if err != nil {
		return answer{protocol: "unknown"}.failed(err)
	}
	reply := answer{protocol: version.String(), v2: version == version2}
	j := h.jobs.Get().(*job)
	defer h.release(j)
	j.reset(version)
	if err = h.receive(j, w, r); err == nil {
		err = h.store(r.Context(), j)
	}
	o := j.outcome(err)
	h.metrics.count(version, o)
	if err != nil {
		h.logFailure(r.Context(), version, err)
		h.keepFailure(r, o, err)
		return reply.failed(err)
	}
	reply.written, reply.status = o.written.plus(o.deduplicated), http.StatusNoContent
	if j.refused.any() {
		reply.status, reply.text = http.StatusBadRequest, j.refused.text(j.received)
		h.o.Logger.DebugContext(r.Context(), "remote write refused in part", "protocol", reply.protocol, "reason", reply.text)
		h.keepRefusals(r, j)
	}
	return reply
}

// receive reads the body.
func (h *Handler) receive(j *job, w http.ResponseWriter, r *http.Request) (err error) {
	if r.ContentLength > int64(h.o.BodyBytes) {
		return reply.WithStatus(http.StatusRequestEntityTooLarge, fmt.Errorf("body of %d bytes, more than %d (--write.max-body-bytes)", r.ContentLength, h.o.BodyBytes))
	}
	j.body, err = listen.Receive(j.body, w, r, h.o.BodyBytes, &j.share)
	return bodyError(err, h.o.BodyBytes)
}

// store decodes the body and stores its data. The request counts as one under way only from here
// on: a slow sender holds the memory of what has arrived, and blocks no other sender.
func (h *Handler) store(ctx context.Context, j *job) error {
	if !h.gate.Enter() {
		return errBusy
	}
	defer h.gate.Leave()
	ctx, cancel := listen.WithTimeout(ctx, h.o.Timeout)
	defer cancel()
	if n, err := s2.DecodedLen(j.body); err == nil && n > largeWrite {
		turn, err := h.turns.Begin(ctx)
		if err != nil {
			return errBusy
		}
		defer turn.End()
		ctx = turns.With(ctx, turn)
	}
	if err := j.decode(); err != nil {
		return err
	}
	return j.store(ctx)
}

// largeWrite is the decoded size, in bytes, from which a request waits for a turn to be decoded.
// Prometheus sends a tenth of that.
const largeWrite = 2 << 20

// release gives back what a job holds of the process' limits, and keeps the job unless it has grown
// large.
func (h *Handler) release(j *job) {
	j.share.Release()
	if j.footprint() <= pooledJob {
		h.jobs.Put(j)
	}
}

func (h *Handler) logFailure(ctx context.Context, v version, err error) {
	if status := (reply.Error{}); errors.As(err, &status) {
		h.o.Logger.DebugContext(ctx, "remote write refused", "protocol", v.String(), "status", status.Status, "err", err)
		return
	}
	h.o.Logger.WarnContext(ctx, "remote write not stored, the sender is asked to try again; see TsdbridgePointsFailed in docs/monitoring.md", "protocol", v.String(), "err", err)
}

// keepFailure keeps a request that was refused as a whole.
func (h *Handler) keepFailure(r *http.Request, o outcome, err error) {
	status := reply.Error{}
	if !errors.As(err, &status) || status.Status/100 != 4 || status.Status == http.StatusTooManyRequests {
		return
	}
	h.o.Refused.Add(r.Context(), refused.Sample{Door: refused.RemoteWrite, Client: r.RemoteAddr, Reason: err.Error(), Points: max(1, o.rejected.total())}, nil)
}

// keepRefusals keeps the first parts of a request that were refused. All points are counted with the first of them.
func (h *Handler) keepRefusals(r *http.Request, j *job) {
	points := j.refused.data.total()
	for _, c := range j.refused.culprits {
		h.o.Refused.Add(r.Context(), refused.Sample{Door: refused.RemoteWrite, Client: r.RemoteAddr, Reason: c.why, Points: points}, func() string { return c.who })
		points = 0
	}
}

// failed returns the answer to an error: the status of the error, or 503 for all errors of the
// store.
func (r answer) failed(err error) answer {
	r.status = http.StatusServiceUnavailable
	if own := (reply.Error{}); errors.As(err, &own) {
		r.status = own.Status
	}
	r.retry = r.status == http.StatusServiceUnavailable
	r.text = reply.Cut(err.Error(), maxAnswer)
	return r
}

// maxRetryAfter is the longest pause that is asked for, in seconds: shorter than a sender can
// buffer, long enough to spread the senders.
const maxRetryAfter = 5

func (r answer) send(w http.ResponseWriter) {
	header := w.Header()
	if r.v2 {
		const prefix = "X-Prometheus-Remote-Write-"
		header.Set(prefix+"Samples-Written", strconv.Itoa(r.written[kindSample]))
		header.Set(prefix+"Histograms-Written", strconv.Itoa(r.written[kindHistogram]))
		header.Set(prefix+"Exemplars-Written", strconv.Itoa(r.written[kindExemplar]))
	}
	if r.status == http.StatusMethodNotAllowed {
		header.Set("Allow", http.MethodPost)
	}
	if r.retry {
		header.Set("Retry-After", strconv.Itoa(1+rand.IntN(maxRetryAfter)))
	}
	if r.text == "" {
		w.WriteHeader(r.status)
		return
	}
	http.Error(w, r.text, r.status)
}
