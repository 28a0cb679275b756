// Package queries answers /api/query, what is below it, and /q of OpenTSDB's HTTP API.
package queries

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/singleflight"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/expression"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// Options are what an API needs. TimeZone is that of dates in queries which name none. Timeout is how long
// a query may take that comes in no request of the API; 0: no limit.
type Options struct {
	Engine   *query.Engine
	TimeZone *time.Location
	Timeout  time.Duration
	Now      func() time.Time
}

// An API answers queries.
type API struct {
	o         Options
	origins   *httpapi.Origins
	evaluator *evaluation.Evaluator
	answers   *singleflight.Replies[io.WriterTo] // of /api/query, as JSON
	groups    *singleflight.Replies[io.WriterTo] // of /q, which each request shows in its own way
}

// New returns an API that pages of the origins may have delete.
func New(o Options, origins *httpapi.Origins, evaluator *evaluation.Evaluator) *API {
	return &API{o, origins, evaluator, singleflight.NewReplies(encodedOnce), singleflight.NewReplies[io.WriterTo](nil)}
}

// Serve answers /api/query, and as a TSD also what stands below it but has no meaning.
func (a *API) Serve(w http.ResponseWriter, r *httpapi.Request) error {
	if r.Verb == http.MethodDelete {
		if err := a.o.Engine.MayDelete(); err != nil {
			return httpapi.Error{Status: http.StatusBadRequest, Message: "Bad request", Details: err.Error()}
		}
	}
	switch r.Below() {
	case "last":
		return a.last(w, r)
	case "exp":
		return a.exp(w, r)
	case "gexp":
		return a.gexp(w, r)
	}
	_, parsing := tracing.Start(r.Context(), "parse")
	parsed, text, err := parseQuery(w, r)
	parsing.End(err)
	if err != nil {
		return err
	}
	if err := a.check(parsed); err != nil {
		return err
	}
	if parsed.Delete {
		return a.deleted(w, r, parsed, text)
	}
	return a.answered(w, r, question{text: text, key: queryKey(r, text), compute: func(ctx context.Context) (io.WriterTo, error) {
		return a.answerNow(ctx, parsed)
	}})
}

// queryKey returns all that the answer to a query depends on. text is its body.
func queryKey(r *httpapi.Request, text string) string {
	if r.Verb != http.MethodPost {
		return "query " + r.ParametersKey()
	}
	return fmt.Sprintf("query arrays=%v %s", r.URL.Query().Has("arrays"), text)
}

// answerNow computes the answer to a query, with the times that it means now.
func (a *API) answerNow(ctx context.Context, parsed *query.Request) (io.WriterTo, error) {
	if err := parsed.Check(a.o.Now()); err != nil {
		return nil, err
	}
	return a.o.Engine.Answer(ctx, parsed)
}

// deleted answers a query, and deletes what it has answered.
func (a *API) deleted(w http.ResponseWriter, r *httpapi.Request, parsed *query.Request, text string) error {
	if err := a.mayDelete(r); err != nil {
		return err
	}
	var answer *query.Answer
	err := a.evaluator.Compute(r.Context(), r.RemoteAddr, text, func(ctx context.Context) (err error) {
		if answer, err = a.o.Engine.Answer(ctx, parsed); err == nil {
			err = a.o.Engine.Delete(ctx, answer)
		}
		return err
	})
	if err != nil {
		return err
	}
	writeAnswer(w, r, answer)
	return nil
}

// parseQuery reads a query from the body or from the parameters. text describes it.
func parseQuery(w http.ResponseWriter, r *httpapi.Request) (parsed *query.Request, text string, err error) {
	if r.Verb != http.MethodPost {
		parsed, err = query.ParseParameters(r.URL.Query(), onlyMetrics)
		if parsed != nil && r.Verb == http.MethodDelete {
			parsed.Delete = true
		}
		return parsed, r.URL.RawQuery, err
	}
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return nil, "", err
	}
	parsed, err = query.ParseJSON(body)
	if parsed != nil {
		parsed.Arrays = r.URL.Query().Has("arrays")
	}
	return parsed, string(body), err
}

// onlyMetrics reads expressions. /api/query answers the metrics that they need, and computes nothing of them.
func onlyMetrics(expressions []string) ([]string, error) {
	_, metrics, err := expression.ParseTrees(expressions)
	return metrics, err
}

// check checks a query, and reads its times.
func (a *API) check(q *query.Request) error {
	q.DefaultZone = a.o.TimeZone
	return q.Check(a.o.Now())
}

// mayDelete returns why a request may not delete what it asks for: deletions are off, or a browser sends it
// because of a page of another origin or of a link.
func (a *API) mayDelete(r *httpapi.Request) error {
	if err := a.o.Engine.MayDelete(); err != nil {
		return err
	}
	return a.origins.Check(r.Request)
}
