// Package otlp receives metrics of OpenTelemetry (OTLP over HTTP, protobuf or JSON, and over gRPC) and appends what
// can be stored. The Prometheus module's converter names the series and makes native histograms;
// known series are found by the bytes of their attributes. It reads the store only to go on with
// sums of deltas.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

// A Handler receives metrics. It answers 200 when all of a request is durable or, with a partial
// success that names the rest, a part of it; 400 when nothing of it can ever be stored, and 503 when
// the sender should send it again. It stores nothing of a malformed request.
type Handler struct {
	o        Options
	intake   *writelimits.Intake
	translit atomic.Pointer[translation]
	totals   *totals
	counters *doorMetrics
	jobs     sync.Pool // of *job
}

// New returns the handler.
func New(o Options) *Handler {
	h := &Handler{o: o, intake: o.Intake}
	h.totals = newTotals(o)
	h.counters = newDoorMetrics(o.Registerer, h.totals)
	h.jobs.New = func() any { return newJob(h) }
	h.Use(o.Config)
	return h
}

// DropCaches forgets all series and the sums of deltas: these are read from the store.
func (h *Handler) DropCaches() {
	h.translit.Store(newTranslation(h.translit.Load().config, h.o))
	h.totals.forget()
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	a := h.serve(w, r)
	a.send(w)
	h.counters.observe(a.status, time.Since(begin))
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) answer {
	if r.Method != http.MethodPost {
		return answer{status: http.StatusMethodNotAllowed, text: "OTLP wants POST"}
	}
	f, err := formatOf(r)
	if err != nil {
		return answer{}.failed(err)
	}
	return h.take(w, r, f)
}

// take receives a request and stores it.
func (h *Handler) take(w http.ResponseWriter, r *http.Request, f format) answer {
	j := h.jobs.Get().(*job)
	defer h.release(j)
	j.reset(h.translit.Load())
	err := j.receive(w, r, f)
	if err == nil {
		err = h.store(r.Context(), j)
	}
	h.counters.count(j.outcome(err))
	if err != nil {
		h.tell(r, j, err)
		return answer{format: f}.failed(err)
	}
	return h.answer(r, j, f)
}

// answer returns the answer to a request whose good points are durable.
func (h *Handler) answer(r *http.Request, j *job, f format) answer {
	a := answer{format: f, status: http.StatusOK, rejected: j.rejected}
	if j.rejected == 0 && len(j.culprits) == 0 {
		return a
	}
	a.text = j.refusals()
	h.keep(r, j)
	if j.rejected == len(j.points) && j.rejected > 0 {
		a.status = http.StatusBadRequest
	}
	return a
}

// store stores a request that has been read.
func (h *Handler) store(ctx context.Context, j *job) error {
	ctx, leave, err := h.intake.Enter(ctx, len(j.decoded))
	if err != nil {
		return err
	}
	defer leave()
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

func (h *Handler) tell(r *http.Request, j *job, err error) {
	status := httpapi.Error{}
	if !errors.As(err, &status) || status.Status >= http.StatusInternalServerError {
		h.o.Logger.WarnContext(r.Context(), "OTLP not stored, the sender is to retry", "err", err)
		return
	}
	h.o.Refused.Add(r.Context(), rejections.Sample{Source: rejections.OTLP, Client: r.RemoteAddr, Reason: err.Error(), Points: max(1, len(j.points))}, nil)
}

// keep keeps the first points that were refused. All are counted with the first of them.
func (h *Handler) keep(r *http.Request, j *job) {
	points := j.rejected
	for _, c := range j.culprits {
		h.o.Refused.Add(r.Context(), rejections.Sample{Source: rejections.OTLP, Client: r.RemoteAddr, Reason: c.why, Points: points}, func() string { return c.who })
		points = 0
	}
}

// answer is the answer to a request.
type answer struct {
	format   format
	status   int
	rejected int
	text     string
	retry    bool
}

// failed returns the answer to an error: the status of the error, or 503 for all errors of the
// store.
func (a answer) failed(err error) answer {
	a.status = http.StatusServiceUnavailable
	if own := (httpapi.Error{}); errors.As(err, &own) {
		a.status = own.Status
	}
	a.retry = a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests
	a.text = httpapi.Cut(err.Error(), maxAnswer)
	return a
}

// maxAnswer bounds the text of an answer in bytes.
const maxAnswer = 1000

func (a answer) send(w http.ResponseWriter) {
	header := w.Header()
	if a.status == http.StatusMethodNotAllowed {
		header.Set("Allow", http.MethodPost)
	}
	if a.retry {
		writelimits.SetRetryAfter(header)
	}
	body := a.body()
	header.Set("Content-Type", a.format.String())
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	// an error here means that the client went away
	_, _ = w.Write(body)
}

// refusals returns what was refused, of how much, and names the first few.
func (j *job) refusals() string {
	var b strings.Builder
	if j.rejected > 0 {
		fmt.Fprintf(&b, "refused %d of %d data points: ", j.rejected, len(j.points))
	}
	for i, c := range j.culprits {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.who + ": " + c.why)
	}
	tail := ""
	if more := j.reasons - len(j.culprits); more > 0 {
		tail = fmt.Sprintf("; and %d more", more)
	}
	return httpapi.Cut(b.String(), maxAnswer-len(tail)) + tail
}
