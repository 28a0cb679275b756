package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// ProgressPath takes the progress of an import or export that a command runs through this adapter.
const ProgressPath = prom.APIPrefix + "/admin/transfers"

// transferHeader has the id of the transfer of a request.
const transferHeader = "Tsdbridge-Transfer"

// A Progress is how far the command of an import or export is. Only the command knows the whole.
type Progress struct {
	Unit      string  `json:"unit,omitempty"` // of Total and Done: files, metrics or series
	Total     int64   `json:"total,omitempty"`
	Done      int64   `json:"done"`
	Bytes     int64   `json:"bytes,omitempty"` // of all; 0: not known
	BytesDone int64   `json:"bytesDone,omitempty"`
	Points    int64   `json:"points"`
	Before    int64   `json:"pointsBefore,omitempty"` // by earlier runs with its state
	Bad       int64   `json:"badLines,omitempty"`
	Skipped   int64   `json:"skipped,omitempty"` // files, or points of an export
	At        string  `json:"at,omitempty"`
	Seconds   float64 `json:"seconds"`
	Left      float64 `json:"secondsLeft,omitempty"` // 0: not known
	State     string  `json:"state,omitempty"`       // done or failed; empty: it runs
	Error     string  `json:"error,omitempty"`
}

// The states of a Progress that has ended.
const (
	done   = "done"
	failed = "failed"
)

// Bounds of a report: of a request, and of each text in it.
const (
	maxReportBytes = 16 << 10
	maxReportText  = 300
)

// report is the body of ProgressPath.
type report struct {
	Kind string `json:"kind"`
	Progress
}

// isTransferID reports whether a text can be the id of a transfer.
func isTransferID(id string) bool { return regexp.MustCompile(`^[0-9a-f]{8,32}$`).MatchString(id) }

// transferID returns the id that a command gave to the transfer of a request; empty: none.
func transferID(r *http.Request) string {
	if id := r.Header.Get(transferHeader); isTransferID(id) {
		return id
	}
	return ""
}

// Report records the progress that a command reports.
func (t *Transfers) Report(w http.ResponseWriter, r *http.Request) {
	var x report
	body, err := io.ReadAll(io.LimitReader(r.Body, maxReportBytes))
	if err == nil {
		err = json.Unmarshal(body, &x)
	}
	id := transferID(r)
	if err == nil && id == "" {
		err = fmt.Errorf("the header %s is no id of 8 to 32 hexadecimal digits", transferHeader)
	}
	if err == nil && x.State != "" && x.State != done && x.State != failed {
		err = errors.New("state: want done, failed or nothing")
	}
	if err != nil {
		httpapi.BadRequest(w, fmt.Errorf("%w: %w", storage.ErrInvalid, err))
		return
	}
	for _, text := range []*string{&x.Kind, &x.Unit, &x.At, &x.Error} {
		*text = httpapi.Cut(strings.ToValidUTF8(*text, "?"), maxReportText)
	}
	t.mu.Lock()
	one := t.of(id, x.Kind, clientOf(r))
	one.Kind, one.Progress = x.Kind, &x.Progress
	t.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// A Reporter reports to the adapter that carries out a command how far the command is. A nil one reports nothing.
type Reporter struct {
	base, kind string
	// ID names the transfer in requests.
	ID string

	off atomic.Bool // the adapter does not want to know
}

// reportTimeout is how long a command waits for an adapter that it reports to.
const reportTimeout = 2 * time.Second

// NewReporter returns one for a command of a kind and the adapter at base, with a new id.
func NewReporter(base, kind string) *Reporter {
	return &Reporter{base: base, kind: kind, ID: fmt.Sprintf("%016x", rand.Uint64())}
}

type transferIDKey struct{}

// With returns a context whose requests are those of the transfer.
func (r *Reporter) With(ctx context.Context) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, transferIDKey{}, r.ID)
}

// Report reports how far the command is. It may be lost: the next one reports all of it again.
func (r *Reporter) Report(ctx context.Context, p Progress) {
	if r == nil || r.off.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	req, err := jsonRequest(r.With(ctx), r.base, ProgressPath, report{r.kind, p})
	if err != nil {
		return
	}
	resp, err := ask(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		r.off.Store(true) // it is older than this command
	}
}

// End reports how the command ended.
func (r *Reporter) End(ctx context.Context, p Progress, err error) {
	p.State, p.Left = done, 0
	if err == nil && p.Total > 0 {
		p.Done = p.Total
	}
	if err != nil {
		p.State, p.Error = failed, httpapi.Cut(err.Error(), maxReportText)
	}
	r.Report(context.WithoutCancel(ctx), p)
}
