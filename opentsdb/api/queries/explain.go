package queries

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// Explain computes the answer to a request with the parameters of GET /api/query, within the limits of that, and
// returns how that was done. After an error it returns the status of an answer and a text.
func (a *API) Explain(w http.ResponseWriter, r *http.Request) (x *query.Explanation, status int, text string) {
	ctx := r.Context()
	if a.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.o.Timeout)
		defer cancel()
	}
	x, err := a.explained(w, &httpapi.Request{Request: r.WithContext(ctx), Verb: r.Method})
	if err != nil {
		of := evaluation.StatusOf(err)
		if status = of.Status; errors.As(err, new(tsdquery.SyntaxError)) {
			status = http.StatusBadRequest // a TSD's is 500
		}
		return nil, status, of.Message
	}
	return x, http.StatusOK, ""
}

func (a *API) explained(w http.ResponseWriter, r *httpapi.Request) (*query.Explanation, error) {
	r.Body = http.MaxBytesReader(w, r.Body, httpapi.MaxBody)
	if err := r.ParseForm(); err != nil {
		return nil, tsdquery.RequestError{Message: err.Error()}
	}
	parsed, err := tsdquery.ParseParameters(r.Form, onlyMetrics)
	if err != nil {
		return nil, err
	}
	if err := a.check(parsed); err != nil {
		return nil, err
	}
	x := &query.Explanation{Language: evaluation.Language, Query: strings.Join(append(r.Form["m"], r.Form["tsuid"]...), "\n")}
	x.Query = query.CutText(x.Query, evaluation.MostShown)
	return x, a.evaluator.Compute(r.Context(), r.RemoteAddr, x.Query, func(ctx context.Context) error { return a.explain(ctx, parsed, x) })
}

// explain computes the answer, and describes that.
func (a *API) explain(ctx context.Context, parsed *tsdquery.Request, x *query.Explanation) error {
	begin := time.Now()
	answer, err := a.o.Engine.Answer(ctx, parsed)
	if err != nil {
		return err
	}
	x.Seconds, x.Memory = time.Since(begin).Seconds(), query.AccountOf(ctx).Most()
	start, end := parsed.Times()
	x.Start, x.End = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC()
	x.Series = len(answer.Groups)
	for i := range answer.Groups {
		x.Samples += answer.Groups[i].Points.Len()
	}
	x.Count(query.TallyOf(ctx))
	trace := query.TraceOf(ctx)
	x.Plan, x.Reads = trace.Plan("queries"), trace.Reads()
	return nil
}
