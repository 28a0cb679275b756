// Package write receives Prometheus' remote write 1.0 and 2.0 and appends what can be stored. It
// reads nothing back.
package write

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
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
	intake  *writelimits.Intake
	caches  [version2 + 1]atomic.Pointer[ingest.Cache]
	metrics *doorMetrics
	jobs    sync.Pool // of *job
}

// New returns the handler of remote write.
func New(o Options) *Handler {
	h := &Handler{o: o, intake: writelimits.New(writelimits.Options{Requests: o.Requests, InFlightBytes: o.InFlightBytes, Timeout: o.Timeout})}
	h.DropCaches()
	h.metrics = newDoorMetrics(o.Registerer, h.intake.Gate())
	h.jobs.New = func() any { return newJob(h) }
	return h
}

// Intake returns what bounds the requests and their bytes. Other doors for writes share it.
func (h *Handler) Intake() *writelimits.Intake { return h.intake }

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
	if j.body, err = j.share.Receive(j.body, w, r, h.o.BodyBytes); err == nil {
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

// store decodes the body and stores its data.
func (h *Handler) store(ctx context.Context, j *job) error {
	n, _ := s2.DecodedLen(j.body) // decode tells of an error
	ctx, leave, err := h.intake.Enter(ctx, n)
	if err != nil {
		return err
	}
	defer leave()
	if err := j.decode(); err != nil {
		return err
	}
	return j.store(ctx)
}

// release gives back what a job holds of the process' limits, and keeps the job unless it has grown
// large.
func (h *Handler) release(j *job) {
	j.share.Release()
	if j.footprint() <= pooledJob {
		h.jobs.Put(j)
	}
}

func (h *Handler) logFailure(ctx context.Context, v version, err error) {
	if status := (httpapi.Error{}); errors.As(err, &status) {
		h.o.Logger.DebugContext(ctx, "remote write refused", "protocol", v.String(), "status", status.Status, "err", err)
		return
	}
	h.o.Logger.WarnContext(ctx, "remote write not stored, the sender is to retry; see TsdbridgePointsFailed in docs/monitoring.md", "protocol", v.String(), "err", err)
}

// keepFailure keeps a request that was refused as a whole.
func (h *Handler) keepFailure(r *http.Request, o outcome, err error) {
	status := httpapi.Error{}
	if !errors.As(err, &status) || status.Status/100 != 4 || status.Status == http.StatusTooManyRequests {
		return
	}
	h.o.Refused.Add(r.Context(), rejections.Sample{Source: rejections.RemoteWrite, Client: r.RemoteAddr, Reason: err.Error(), Points: max(1, o.rejected.total())}, nil)
}

// keepRefusals keeps the first parts of a request that were refused. All points are counted with the first of them.
func (h *Handler) keepRefusals(r *http.Request, j *job) {
	points := j.refused.data.total()
	for _, c := range j.refused.culprits {
		h.o.Refused.Add(r.Context(), rejections.Sample{Source: rejections.RemoteWrite, Client: r.RemoteAddr, Reason: c.why, Points: points}, func() string { return c.who })
		points = 0
	}
}

// failed returns the answer to an error: the status of the error, or 503 for all errors of the
// store.
func (r answer) failed(err error) answer {
	r.status = http.StatusServiceUnavailable
	if own := (httpapi.Error{}); errors.As(err, &own) {
		r.status = own.Status
	}
	r.retry = r.status == http.StatusServiceUnavailable
	r.text = httpapi.Cut(err.Error(), maxAnswer)
	return r
}

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
		writelimits.SetRetryAfter(header)
	}
	if r.text == "" {
		w.WriteHeader(r.status)
		return
	}
	http.Error(w, r.text, r.status)
}
