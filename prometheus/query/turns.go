package query

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// apiTurns lets a few requests of the query API compute at once, from their beginning to their end:
// lists of labels and series, status, formatting, and queries that take long to parse. Other
// queries get their turns from queryGate.
type apiTurns struct {
	turns   *query.Turns
	timeout time.Duration // of a request, waiting included; 0: none
}

// newAPITurns has one turn for each core. With more, other protocols would only have to wait.
func newAPITurns(timeout time.Duration) apiTurns {
	return apiTurns{query.NewTurns(runtime.GOMAXPROCS(0)), timeout}
}

// ordinary reports whether a request is a query that is parsed in no time.
func ordinary(r *http.Request) bool {
	return evaluates(r.URL.Path) && r.ContentLength >= 0 && int64(len(r.URL.RawQuery))+r.ContentLength <= query.FreeBytes
}

// evaluates reports whether a query is evaluated at a path.
func evaluates(path string) bool {
	return path == queryPath || path == rangePath || path == explainPath
}

// serve runs next while the request has a turn. The turn is given away while the client reads.
func (a apiTurns) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if a.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
	}
	defer cancel()
	ctx = query.WithClient(ctx, r.RemoteAddr)
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		httpapi.APIError(w, httpapi.QueryError(ctx, "wait for other requests", err))
		return
	}
	defer turn.End()
	ctx = query.WithTurn(ctx, turn)
	next.ServeHTTP(newTurnResponse(ctx, w), r.WithContext(ctx))
}

// turnResponse gives the turn of a request away while its client reads.
type turnResponse struct {
	http.ResponseWriter
	paused query.Writer
}

// newTurnResponse takes the turn back only for an answer that is being compressed. Most others are
// complete before they are written; the rest of a large one is encoded without a turn, as that of an
// ordinary query is.
func newTurnResponse(ctx context.Context, w http.ResponseWriter) *turnResponse {
	compressed := func([]byte) bool { return w.Header().Get("Content-Encoding") != "" }
	return &turnResponse{w, query.NewWriter(ctx, query.TurnOf(ctx), w, compressed)}
}

// Write implements io.Writer.
func (t *turnResponse) Write(p []byte) (int, error) { return t.paused.Write(p) }

// Flush implements http.Flusher, which answers of a search ask for.
func (t *turnResponse) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (t *turnResponse) Unwrap() http.ResponseWriter { return t.ResponseWriter }
