package adapter

import (
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
)

// transfersPath lists the imports and exports that commands elsewhere run through this adapter, the last one first.
const transfersPath = "/api/v1/status/transfers"

const (
	// transferQuiet is how long after its last request a transfer counts as running.
	transferQuiet = time.Minute
	// transferKept is how long one is shown after its last request, and mostTransfers how many are.
	transferKept  = 24 * time.Hour
	mostTransfers = 50
)

// A transferred is the requests of one kind from one client, without a break of more than transferQuiet.
type transferred struct {
	Kind     string    `json:"kind"`
	Client   string    `json:"client"` // without its port
	Began    time.Time `json:"began"`
	Last     time.Time `json:"last"`
	Requests int64     `json:"requests"`
	Failed   int64     `json:"failedRequests"`
	Received int64     `json:"receivedBytes"`
	Sent     int64     `json:"sentBytes"`
	Running  bool      `json:"running"`

	active int // requests under way
}

// transfers watches the requests of imports and exports. It is safe for concurrent use.
type transfers struct {
	now func() time.Time

	mu   sync.Mutex // guards list
	list []*transferred
}

// transferKinds are the paths of transfers.
func transferKinds() map[string]string {
	return map[string]string{
		importPath: "import", importPartPath: "import of files", importColumnsPath: "import of samples", exportPath: "export", exportColumnsPath: "export of samples", exportNextPath: "export of samples", exportMetadataPath: "export of samples", exportRangesPath: "export",
		exportBehindPath: "export", exportWhisperPath: "export of whisper files",
		copyPartsPath: "copy from here", copyRangesPath: "copy from here", copyReadPath: "copy from here", copyWritePath: "copy into here", copyChangesPath: "copy from here", copyDeletePath: "copy into here",
	}
}

// watched counts the requests of a path, if it is one of transfers.
func (t *transfers) watched(path string, serve http.HandlerFunc) http.HandlerFunc {
	kind, ok := transferKinds()[path]
	if !ok {
		return serve
	}
	return func(w http.ResponseWriter, r *http.Request) {
		one := t.begin(kind, r)
		body := &countedBody{ReadCloser: r.Body}
		r.Body = body
		answer := &countedAnswer{ResponseWriter: w}
		defer func() { t.end(one, body.n, answer) }()
		serve(answer, r)
	}
}

func (t *transfers) begin(kind string, r *http.Request) *transferred {
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		client = r.RemoteAddr
	}
	now := t.now().UTC()
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.list, func(o *transferred) bool { return o.Kind == kind && o.Client == client && o.runs(now) })
	if i < 0 {
		t.list = append(t.list, &transferred{Kind: kind, Client: client, Began: now})
		if i = len(t.list) - 1; i == mostTransfers {
			t.list, i = slices.Delete(t.list, 0, 1), i-1
		}
	}
	one := t.list[i]
	one.Last = now
	one.active++
	return one
}

func (t *transfers) end(one *transferred, received int64, answer *countedAnswer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.active--
	one.Last = t.now().UTC()
	one.Requests++
	one.Received += received
	one.Sent += answer.n
	if answer.status >= http.StatusBadRequest {
		one.Failed++
	}
}

func (o *transferred) runs(now time.Time) bool {
	return o.active > 0 || now.Sub(o.Last) < transferQuiet
}

func (t *transfers) serve(w http.ResponseWriter, _ *http.Request) {
	now, list := t.now(), []transferred{}
	t.mu.Lock()
	for _, one := range slices.Backward(t.list) {
		if one.Running = one.runs(now); one.Running || now.Sub(one.Last) < transferKept {
			list = append(list, *one)
		}
	}
	t.mu.Unlock()
	slices.SortStableFunc(list, func(a, b transferred) int { return b.Last.Compare(a.Last) })
	reply.JSON(w, http.StatusOK, reply.Frame{Status: "success", Data: struct {
		Transfers []transferred `json:"transfers"`
	}{list}})
}

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser

	n int64
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	return n, err
}

// countedAnswer counts what is written of an answer.
type countedAnswer struct {
	http.ResponseWriter

	n      int64
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *countedAnswer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *countedAnswer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.n += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *countedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
