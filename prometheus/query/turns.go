package query

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/turns"
)

// apiTurns lets a few requests of the query API compute at once: lists of labels and series, status, formatting, and queries that take long to parse. Other
// queries get their turns from the engine's gate.
type apiTurns struct {
	turns   *turns.Turns
	timeout time.Duration // of a request, waiting included; 0: none
}

// newAPITurns has a turn for each core. More would only make the other doors wait.
func newAPITurns(timeout time.Duration) apiTurns {
	return apiTurns{turns.New(runtime.GOMAXPROCS(0)), timeout}
}

// longForm is how many bytes the parameters of a query may have to be parsed without a turn.
const longForm = 8 << 10

// ordinary says whether a request is a query that is parsed in no time.
func ordinary(r *http.Request) bool {
	query := r.URL.Path == Prefix+"/query" || r.URL.Path == Prefix+"/query_range"
	return query && r.ContentLength >= 0 && int64(len(r.URL.RawQuery))+r.ContentLength <= longForm
}

// serve has next answer in a turn, which others have while the client reads.
func (a apiTurns) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if a.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
	}
	defer cancel()
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		reply.APIError(w, reply.QueryError(ctx, "wait for other requests", err))
		return
	}
	defer turn.End()
	ctx = turns.With(ctx, turn)
	next.ServeHTTP(&turnResponse{w, ctx}, r.WithContext(ctx))
}

// turnResponse gives the turn of a request away while its client reads.
type turnResponse struct {
	http.ResponseWriter
	ctx context.Context //nolint:containedctx // of the request, whose answer this is
}

// Write implements io.Writer. An answer that is not being compressed is computed when it is written.
func (t *turnResponse) Write(p []byte) (int, error) {
	turn := turns.From(t.ctx)
	turn.Pause()
	n, err := t.ResponseWriter.Write(p)
	if err == nil && t.Header().Get("Content-Encoding") != "" {
		err = turn.Resume(t.ctx)
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (t *turnResponse) Unwrap() http.ResponseWriter { return t.ResponseWriter }
