package api

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/budget"
	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// answers are requests that are being computed, by all that their answers depend on. What changes an
// answer is not known before the series are found, so an equal request never joins an evaluation that began
// before it came: all that wait for one are answered by the next.
type answers = singleflight.Group[string, io.WriterTo]

func newAnswers() *answers {
	return singleflight.New[string, io.WriterTo](singleflight.OfOneEvaluation)
}

// A question is a request for what only reads, and may be answered with equal ones.
type question struct {
	text string // for the list of queries
	key  string // all that the answer depends on
	// compute reads the clock: it may begin later than the request.
	compute func(ctx context.Context) (io.WriterTo, error)
	// differs means that equal requests show the answer in different ways, bare that none puts a call of
	// a function around it.
	differs, bare bool
}

// answered answers a request in JSON, in the call of a function if it names one.
func (a *API) answered(w http.ResponseWriter, r *request, q question) error {
	share, err := a.shared(r, q)
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
func (a *API) shared(r *request, q question) (share *singleflight.Share[io.WriterTo], err error) {
	err = a.listed(r, q.text, func(ctx context.Context) (err error) {
		if err := budget.From(ctx).Take(int64(len(q.key))); err != nil {
			return err
		}
		share, err = a.answers.Do(ctx, q.key, singleflight.Question[io.WriterTo]{Compute: q.evaluate})
		return err
	})
	if err != nil && share != nil {
		share.Release()
	}
	return share, err
}

// evaluate computes an answer. Where several may wait for it, it is encoded once.
func (q question) evaluate(ctx context.Context, late bool) (io.WriterTo, error) {
	answer, err := q.compute(query.WithSteps(ctx))
	if err != nil || !late || q.differs {
		return answer, err
	}
	body, err := singleflight.Encode(ctx, func(w io.Writer) { _, _ = answer.WriteTo(w) })
	if body == nil {
		return answer, err
	}
	return body, err
}

// writeAnswer prints an answer, in the call of a function if the request names one.
func writeAnswer(w http.ResponseWriter, r *request, answer io.WriterTo) {
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
func writeBare(w http.ResponseWriter, r *request, answer io.WriterTo) {
	_, encoding := tracing.Start(r.Context(), "encode")
	defer encoding.End(nil)
	w.Header().Set("Content-Type", httpapi.ContentType)
	_, _ = answer.WriteTo(w) // a client that is gone loses the answer
}

// parametersKey returns the parameters of a request that an answer depends on.
func (r *request) parametersKey() string {
	v := r.URL.Query()
	for name := range v {
		if name == "jsonp" || strings.HasPrefix(name, "_") { // jQuery's, against caches
			delete(v, name)
		}
	}
	return v.Encode()
}
