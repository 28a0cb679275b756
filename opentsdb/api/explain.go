package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
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
	x, err := a.explained(w, &request{Request: r.WithContext(ctx), method: r.Method})
	if err != nil {
		of := statusOf(err)
		if status = of.Status; errors.As(err, new(tsdquery.SyntaxError)) {
			status = http.StatusBadRequest // a TSD's is 500
		}
		return nil, status, of.Message
	}
	return x, http.StatusOK, ""
}

func (a *API) explained(w http.ResponseWriter, r *request) (*query.Explanation, error) {
	if !a.serves("query") {
		return nil, errEndpoint
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxQueryBytes)
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
	x := &query.Explanation{Language: language, Query: strings.Join(append(r.Form["m"], r.Form["tsuid"]...), "\n")}
	x.Query = query.CutText(x.Query, mostShown)
	return x, a.computed(r, x.Query, func(ctx context.Context) error { return a.explain(ctx, parsed, x) })
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
