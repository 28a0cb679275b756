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

// ToldPath takes what a command tells of its import or export through this adapter.
const ToldPath = prom.APIPrefix + "/admin/transfers"

// transferHeader has the id of the transfer of a request.
const transferHeader = "Tsdbridge-Transfer"

// A Told is how far the command of an import or export is. Only the command knows the whole.
type Told struct {
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

// The states of a Told that has ended.
const (
	done   = "done"
	failed = "failed"
)

// Bounds of what is told: of a request, and of each text in it.
const (
	maxToldBytes = 16 << 10
	maxToldText  = 300
)

// tells is the body of ToldPath.
type tells struct {
	Kind string `json:"kind"`
	Told
}

// isTransferID tells whether a text can be the id of a transfer.
func isTransferID(id string) bool { return regexp.MustCompile(`^[0-9a-f]{8,32}$`).MatchString(id) }

// transferID returns the id that a command gave to the transfer of a request; empty: none.
func transferID(r *http.Request) string {
	if id := r.Header.Get(transferHeader); isTransferID(id) {
		return id
	}
	return ""
}

// Told notes what a command tells.
func (t *Transfers) Told(w http.ResponseWriter, r *http.Request) {
	var x tells
	body, err := io.ReadAll(io.LimitReader(r.Body, maxToldBytes))
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
		*text = httpapi.Cut(strings.ToValidUTF8(*text, "?"), maxToldText)
	}
	t.mu.Lock()
	one := t.of(id, x.Kind, clientOf(r))
	one.Kind, one.Told = x.Kind, &x.Told
	t.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// A Teller tells the adapter that carries out a command how far the command is. A nil one tells nobody.
type Teller struct {
	base, kind string
	// ID names the transfer in requests.
	ID string

	off atomic.Bool // the adapter does not want to know
}

// tellTimeout is how long a command waits for an adapter that it tells something.
const tellTimeout = 2 * time.Second

// NewTeller returns one for a command of a kind and the adapter at base, with a new id.
func NewTeller(base, kind string) *Teller {
	return &Teller{base: base, kind: kind, ID: fmt.Sprintf("%016x", rand.Uint64())}
}

type transferIDKey struct{}

// With returns a context whose requests are those of the transfer.
func (t *Teller) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, transferIDKey{}, t.ID)
}

// Tell tells how far the command is. It may be lost: the next one tells all of it again.
func (t *Teller) Tell(ctx context.Context, told Told) {
	if t == nil || t.off.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	req, err := jsonRequest(t.With(ctx), t.base, ToldPath, tells{t.kind, told})
	if err != nil {
		return
	}
	resp, err := ask(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		t.off.Store(true) // it is older than this command
	}
}

// End tells how the command ended.
func (t *Teller) End(ctx context.Context, told Told, err error) {
	told.State, told.Left = done, 0
	if err == nil && told.Total > 0 {
		told.Done = told.Total
	}
	if err != nil {
		told.State, told.Error = failed, httpapi.Cut(err.Error(), maxToldText)
	}
	t.Tell(context.WithoutCancel(ctx), told)
}
