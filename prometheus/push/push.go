// Package push takes samples over HTTP, as text in OpenMetrics or in the text format of Prometheus, or in the formats that
// VictoriaMetrics exports, and appends them as they come. It reads nothing back.
package push

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/openmetrics"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

// Options are the parts of a Handler. All must be given but Refused.
type Options struct {
	Appendable *appendable.Appendable
	Intake     *writelimits.Intake // of all doors for writes
	Refused    *rejections.Log
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// A Handler receives samples. It answers 200, or 204 as VictoriaMetrics does, when all of them are durable, 400 with the lines that can
// never be stored when the rest is, and 503 when the sender should send it again.
type Handler struct {
	o       Options
	texts   chan struct{} // a token for each text that is read
	samples *prometheus.CounterVec
}

// New returns the handler.
func New(o Options) *Handler {
	return &Handler{o: o, texts: make(chan struct{}, maxTexts(o.Intake.MaxBytes())), samples: promauto.With(o.Registerer).NewCounterVec(prometheus.CounterOpts{
		Name: "tsdbridge_import_text_samples_total", Help: "Samples of POST /api/v1/import and the paths below it, by what became of them: written or rejected.",
	}, []string{"outcome"})}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "import wants POST", http.StatusMethodNotAllowed)
		return
	}
	p := &pass{h: h, ctx: r.Context, client: r.RemoteAddr, now: h.o.Now().UnixMilli()}
	err := h.receive(w, r, p)
	h.samples.WithLabelValues("written").Add(float64(p.Written))
	h.samples.WithLabelValues("rejected").Add(float64(p.Rejected))
	p.answer(w, err)
}

func (h *Handler) receive(w http.ResponseWriter, r *http.Request, p *pass) error {
	if err := p.parameters(r); err != nil {
		return httpapi.WithStatus(http.StatusBadRequest, err)
	}
	coding, err := netserver.CodingOf(r)
	if err != nil {
		return httpapi.WithStatus(http.StatusUnsupportedMediaType, err)
	}
	select {
	case h.texts <- struct{}{}:
		defer func() { <-h.texts }()
	default:
		return writelimits.ErrBusy
	}
	share := h.o.Intake.Share()
	defer share.Release()
	gate := h.o.Intake.Gate() // a text is stored as it comes, which may take longer than other writes
	if !gate.Enter() {
		return writelimits.ErrBusy
	}
	defer gate.Leave()
	if err := share.Need(requestMemory); err != nil {
		return err
	}
	packed := &counted{r: &patient{r: r.Body, control: http.NewResponseController(w)}}
	body, err := coding.Reader(packed)
	if err != nil {
		return badBody(err)
	}
	return p.reader(r.URL.Path)(&expanding{counted: counted{r: body}, packed: packed}, r, share)
}

// pass is one request.
type pass struct {
	h        *Handler
	ctx      func() context.Context
	client   string
	now      int64 // the time of samples without one, milliseconds
	extra    []labels.Label
	detected bool   // the format was found in the text
	family   string // of the last sample that has metadata
	// silent has a success answered without a body, as VictoriaMetrics does; guessSeconds has small times taken for seconds,
	// as it does too.
	silent, guessSeconds bool

	transaction *appendable.Transaction
	columns     columns.Batch // of series that come with many samples
	pending     int           // samples in transaction or columns
	held        int           // bytes of labels and metadata in transaction or columns
	bad         int           // lines that were refused
	failed      error         // of the store

	Written  int      `json:"written"`  // samples that are durable
	Rejected int      `json:"rejected"` // lines that can never be stored, and samples of refused series
	Errors   []string `json:"errors,omitempty"`
}

// extraBytes is how many bytes the labels may have that all samples get: each sample takes them anew.
const extraBytes = 8 << 10

// parameters reads the labels that all samples get.
func (p *pass) parameters(r *http.Request) error {
	size := 0
	for _, text := range r.URL.Query()["extra_label"] {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !model.UTF8Validation.IsValidLabelName(name) || name == model.MetricNameLabel {
			return fmt.Errorf("extra_label=%.100q: want name=value", text)
		}
		if size += len(text); size > extraBytes {
			return fmt.Errorf("extra_label: more than %d bytes", extraBytes)
		}
		p.extra = append(p.extra, labels.Label{Name: name, Value: value})
	}
	return nil
}

// detectBytes is how much of a text is searched for signs of its format.
const detectBytes = 64 << 10

// format returns the format of a text: what the parameter or the content type says, else
// OpenMetrics if the text has signs of it.
func (p *pass) format(r *http.Request, b *bufio.Reader) (openmetrics.Format, error) {
	if name := r.URL.Query().Get("format"); name != "" {
		f, err := openmetrics.ParseFormat(name)
		if err != nil {
			err = httpapi.WithStatus(http.StatusBadRequest, err)
		}
		return f, err
	}
	switch mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType {
	case "application/openmetrics-text":
		return openmetrics.OpenMetrics, nil
	case "text/plain":
		return openmetrics.Text, nil
	}
	begin, _ := b.Peek(detectBytes) // an error comes again
	for _, sign := range []string{"# EOF", "# UNIT "} {
		if bytes.HasPrefix(begin, []byte(sign)) || bytes.Contains(begin, []byte("\n"+sign)) {
			return openmetrics.OpenMetrics, nil
		}
	}
	p.detected = true
	return openmetrics.Text, nil
}

func (p *pass) read(body io.Reader, r *http.Request) error {
	b := bufio.NewReaderSize(body, detectBytes)
	f, err := p.format(r, b)
	if err != nil {
		return err
	}
	return p.readText(b, f)
}

// readText reads text of a format.
func (p *pass) readText(body io.Reader, f openmetrics.Format) error {
	p.transaction = p.h.o.Appendable.Begin(p.ctx())
	err := openmetrics.Read(body, openmetrics.Options{Format: f}, p)
	if commit := p.commit(); err == nil {
		err = commit
	}
	if err != nil && p.failed == nil {
		err = badBody(err)
	}
	return err
}

// badBody returns the answer to a body that could not be read to its end.
func badBody(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errSlow) {
		return httpapi.WithStatus(http.StatusRequestTimeout, fmt.Errorf("%w: %w; what was read before is stored", netserver.ErrLate, err))
	}
	return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("read body: %w", err))
}

// firstMillisecond is where times of OpenMetrics, in seconds, do not reach before the year 5138.
const firstMillisecond = 100_000_000_000

// Sample implements openmetrics.Visitor.
func (p *pass) Sample(s *openmetrics.Sample) error {
	at := s.Time
	switch {
	case !s.Timed:
		at = p.now
	case p.guessSeconds && at >= math.MinInt32 && at <= math.MaxInt32:
		at *= 1000
	case p.detected && at > 0 && at < firstMillisecond:
		return p.refuse(s.Line, string(s.Raw), fmt.Errorf("timestamp %d is in the year %d if it is milliseconds; ?format=openmetrics has seconds, ?format=text takes it", at, time.UnixMilli(at).Year()))
	}
	ls := p.labelled(s.Labels())
	err := p.append(s, ls, at)
	p.held += int(ls.ByteSize()) + p.described(s)
	if err == nil {
		p.pending++
	} else if err := p.refuse(s.Line, string(s.Raw), err); err != nil {
		return err
	}
	if p.pending >= batchSamples || p.held >= batchBytes {
		return p.commit()
	}
	return nil
}

// labelled returns labels with those that all samples get.
func (p *pass) labelled(ls labels.Labels) labels.Labels {
	if len(p.extra) == 0 {
		return ls
	}
	b := labels.NewBuilder(ls)
	for _, l := range p.extra {
		b.Set(l.Name, l.Value)
	}
	return b.Labels()
}

// described returns how many bytes the metadata of a sample take that those of the samples before do
// not have.
func (p *pass) described(s *openmetrics.Sample) int {
	if s.Family == "" || s.Family == p.family {
		return 0
	}
	p.family = s.Family
	return len(s.Family) + len(s.Metadata.Help) + len(s.Metadata.Unit)
}

// Bad implements openmetrics.Visitor.
func (p *pass) Bad(b *openmetrics.BadLine) error { return p.refuse(b.Line, b.Text, b.Err) }

// maxErrors is how many lines are named.
const maxErrors = 20

// refuse counts a line that cannot be stored. An error ends the request.
func (p *pass) refuse(line int, text string, err error) error {
	p.Rejected++
	if len(p.Errors) < maxErrors {
		p.Errors = append(p.Errors, httpapi.Cut(fmt.Sprintf("line %d: %v: %.120q", line, err, text), 400))
	}
	p.h.o.Refused.Add(p.ctx(), rejections.Sample{Source: rejections.ImportText, Client: p.client, Reason: err.Error(), Points: 1}, func() string { return text })
	if p.bad++; p.bad > maxBad {
		return errBad
	}
	return nil
}

// commit makes the samples durable that have been read.
func (p *pass) commit() error {
	err := p.transaction.Commit()
	p.transaction = p.h.o.Appendable.Begin(p.ctx())
	return p.settle(err)
}

// settle counts what became of the pending samples.
func (p *pass) settle(err error) error {
	n := p.pending
	p.pending, p.held = 0, 0
	if lost, ok := errors.AsType[*appendable.RefusedError](err); ok {
		p.Rejected += lost.Samples
		n -= lost.Samples
		p.Errors = append(p.Errors, lost.Culprits[:min(len(lost.Culprits), max(0, maxErrors-len(p.Errors)))]...)
		err = nil
	}
	if err != nil {
		p.failed = err
		return err
	}
	p.Written += n
	return nil
}

// answer tells what became of the samples.
func (p *pass) answer(w http.ResponseWriter, err error) {
	if err == nil && p.Rejected == 0 && p.silent {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	frame := httpapi.Frame{Status: "success", Data: p}
	status := http.StatusOK
	switch own := (httpapi.Error{}); {
	case errors.As(err, &own):
		status = own.Status
	case err != nil:
		status = http.StatusServiceUnavailable
	case p.Rejected > 0:
		status = http.StatusBadRequest
		err = fmt.Errorf("refused %d samples or lines, the rest is stored", p.Rejected)
	}
	if err != nil {
		frame.Status, frame.ErrorType, frame.Error = "error", "bad_data", httpapi.Cut(err.Error(), 1000)
	}
	if status == http.StatusServiceUnavailable {
		frame.ErrorType = "unavailable"
		writelimits.SetRetryAfter(w.Header())
		p.h.o.Logger.Warn("import of text not stored, the sender is to retry", "err", err)
	}
	httpapi.JSON(w, status, frame)
}
