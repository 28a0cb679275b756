package admin

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// TransfersPath lists the imports and exports that commands elsewhere run through this adapter, the last one first.
const TransfersPath = "/api/v1/status/transfers"

const (
	// transferQuiet is how long after its last request a transfer counts as running.
	transferQuiet = time.Minute
	// transferKept is how long one is shown after its last request, and mostTransfers how many are.
	transferKept  = 24 * time.Hour
	mostTransfers = 50
)

// A Transferred is the requests of one command; of one kind from one client, without a break of more than transferQuiet, if
// the command does not name itself.
type Transferred struct {
	ID       string    `json:"id,omitempty"` // that the command gave itself
	Kind     string    `json:"kind"`
	Client   string    `json:"client"` // without its port
	Began    time.Time `json:"began"`
	Last     time.Time `json:"last"`
	Requests int64     `json:"requests"`
	Failed   int64     `json:"failedRequests"`
	transferSums
	Running  bool      `json:"running"`
	Progress *Progress `json:"told,omitempty"` // by the command

	active []*transferCount // of the requests under way
}

// transferSums is what went through requests. Refused are the lines, series or files of requests that were answered otherwise.
type transferSums struct {
	Received int64 `json:"receivedBytes"`
	Sent     int64 `json:"sentBytes"`
	Points   int64 `json:"points"`
	Refused  int64 `json:"refused"`
}

func (s *transferSums) add(o transferSums) {
	s.Received += o.Received
	s.Sent += o.Sent
	s.Points += o.Points
	s.Refused += o.Refused
}

// A transferCount counts what goes through one request. A nil one counts nothing.
type transferCount struct {
	received, sent, points, refused atomic.Int64
	failed                          atomic.Bool
}

func (c *transferCount) sums() transferSums {
	return transferSums{c.received.Load(), c.sent.Load(), c.points.Load(), c.refused.Load()}
}

type transferCountKey struct{}

// countTransfer counts points that a request has brought or taken away, and what of it was refused.
func countTransfer(ctx context.Context, points, refused int64) {
	if c, ok := ctx.Value(transferCountKey{}).(*transferCount); ok {
		c.points.Add(points)
		c.refused.Add(refused)
	}
}

// failTransfer counts a request as failed whose answer has begun with a success.
func failTransfer(ctx context.Context) {
	if c, ok := ctx.Value(transferCountKey{}).(*transferCount); ok {
		c.failed.Store(true)
	}
}

// Transfers watches the requests of imports and exports. It is safe for concurrent use.
type Transfers struct {
	now func() time.Time

	mu   sync.Mutex // guards list
	list []*Transferred
}

// NewTransfers returns an empty list.
func NewTransfers(now func() time.Time) *Transfers { return &Transfers{now: now} }

// transferKinds are the paths of transfers.
func transferKinds() map[string]string {
	return map[string]string{
		importPath: "import", importPartPath: "import of files", importColumnsPath: "import of samples", exportPath: "export", exportColumnsPath: "export of samples", exportNextPath: "export of samples", exportMetadataPath: "export of samples", exportRangesPath: "export",
		exportBehindPath: "export", exportWhisperPath: "export of whisper files",
		copyPartsPath: "copy from here", copyRangesPath: "copy from here", copyReadPath: "copy from here", copyWritePath: "copy into here", copyChangesPath: "copy from here", copyDeletePath: "copy into here",
	}
}

// Watched counts the requests of a path, if it is one of transfers.
func (t *Transfers) Watched(path string, serve http.HandlerFunc) http.HandlerFunc {
	kind, ok := transferKinds()[path]
	if !ok {
		return serve
	}
	return func(w http.ResponseWriter, r *http.Request) {
		count := &transferCount{}
		one := t.begin(kind, r, count)
		r = r.WithContext(context.WithValue(r.Context(), transferCountKey{}, count))
		r.Body = &countedBody{ReadCloser: r.Body, n: &count.received}
		defer t.end(one, count)
		serve(&countedAnswer{ResponseWriter: w, count: count}, r)
	}
}

func (t *Transfers) begin(kind string, r *http.Request, count *transferCount) *Transferred {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.of(transferID(r), kind, clientOf(r))
	one.active = append(one.active, count)
	return one
}

func clientOf(r *http.Request) string {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return client
}

// of returns the transfer of an id; without one, that of a kind and a client. The caller holds mu.
func (t *Transfers) of(id, kind, client string) *Transferred {
	now := t.now().UTC()
	i := slices.IndexFunc(t.list, func(o *Transferred) bool {
		if id != "" || o.ID != "" {
			return o.ID == id
		}
		return o.Kind == kind && o.Client == client && o.runs(now)
	})
	if i < 0 {
		t.list = append(t.list, &Transferred{ID: id, Kind: kind, Client: client, Began: now})
		if i = len(t.list) - 1; i == mostTransfers {
			t.list, i = slices.Delete(t.list, 0, 1), i-1
		}
	}
	t.list[i].Last = now
	return t.list[i]
}

func (t *Transfers) end(one *Transferred, count *transferCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.active = slices.DeleteFunc(one.active, func(c *transferCount) bool { return c == count })
	one.Last = t.now().UTC()
	one.Requests++
	one.add(count.sums())
	if count.failed.Load() {
		one.Failed++
	}
}

func (o *Transferred) runs(now time.Time) bool {
	return len(o.active) > 0 || now.Sub(o.Last) < transferQuiet && (o.Progress == nil || o.Progress.State == "")
}

// shown returns the transfer with what its requests under way have done so far.
func (o *Transferred) shown() Transferred {
	x := *o
	for _, c := range o.active {
		x.add(c.sums())
	}
	return x
}

// Serve answers with the transfers, the last one first.
func (t *Transfers) Serve(w http.ResponseWriter, _ *http.Request) {
	now, list := t.now(), []Transferred{}
	t.mu.Lock()
	for _, one := range slices.Backward(t.list) {
		if one.Running = one.runs(now); one.Running || now.Sub(one.Last) < transferKept {
			list = append(list, one.shown())
		}
	}
	t.mu.Unlock()
	slices.SortStableFunc(list, func(a, b Transferred) int { return b.Last.Compare(a.Last) })
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: struct {
		Transfers []Transferred `json:"transfers"`
	}{list}})
}

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser

	n *atomic.Int64
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n.Add(int64(n))
	return n, err
}

// countedAnswer counts what is written of an answer.
type countedAnswer struct {
	http.ResponseWriter

	count *transferCount
}

// WriteHeader implements http.ResponseWriter.
func (a *countedAnswer) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		a.count.failed.Store(true)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *countedAnswer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.count.sent.Add(int64(n))
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *countedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
