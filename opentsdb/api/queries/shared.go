package queries

import (
	"context"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// A question is a request for what only reads, and may be answered with equal ones.
type question struct {
	text string // for the list of queries
	key  string // all that the answer depends on
	// compute reads the clock: it may begin later than the request.
	compute func(ctx context.Context) (io.WriterTo, error)
	bare    bool // none puts a call of a function around the answer
}

// answered answers a request in JSON, in the call of a function if it names one.
func (a *API) answered(w http.ResponseWriter, r *httpapi.Request, q question) error {
	share, err := a.shared(r, a.answers, q)
	if err != nil {
		return err
	}
	defer share.Release()
	if q.bare {
		writeBare(w, r, share.Answer)
	} else {
		writeAnswer(w, r, share.Answer)
	}
	return nil
}

// shared computes an answer, together with equal requests.
func (a *API) shared(r *httpapi.Request, to *singleflight.Replies[io.WriterTo], q question) (share *singleflight.Share[io.WriterTo], err error) {
	err = a.evaluator.List(r.Context(), r.RemoteAddr, q.text, func(ctx context.Context) (err error) {
		share, err = to.Reply(ctx, q.key, func(ctx context.Context) (io.WriterTo, error) { return q.compute(tsdquery.WithSteps(ctx)) })
		return err
	})
	return share, err
}

// encodedOnce returns the body of an answer that several wait for, or the answer if there is no memory for it.
func encodedOnce(ctx context.Context, answer io.WriterTo) (io.WriterTo, error) {
	body, err := singleflight.Encode(ctx, func(w io.Writer) { _, _ = answer.WriteTo(w) })
	if body == nil {
		return answer, err
	}
	return body, err
}

// writeAnswer prints an answer, in the call of a function if the request names one.
func writeAnswer(w http.ResponseWriter, r *httpapi.Request, answer io.WriterTo) {
	_, encoding := tracing.Start(r.Context(), "encode")
	defer encoding.End(nil)
	before, after := httpapi.JSONP(r.Request)
	w.Header().Set("Content-Type", httpapi.ContentType)
	// A client that is gone loses the answer.
	_, _ = io.WriteString(w, before)
	_, _ = answer.WriteTo(w)
	_, _ = io.WriteString(w, after)
}

// writeBare prints an answer as it is.
func writeBare(w http.ResponseWriter, r *httpapi.Request, answer io.WriterTo) {
	_, encoding := tracing.Start(r.Context(), "encode")
	defer encoding.End(nil)
	w.Header().Set("Content-Type", httpapi.ContentType)
	_, _ = answer.WriteTo(w) // a client that is gone loses the answer
}
