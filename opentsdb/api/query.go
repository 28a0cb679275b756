package api

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/expression"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/reply"
	"github.com/tsdbridge/tsdbridge/tracing"
)

// maxQueryBytes bounds the body of a query.
const maxQueryBytes = 4 << 20

// query answers /api/query, and as a TSD also what stands below it but has no meaning.
func (a *API) query(w http.ResponseWriter, r *request) error {
	if r.method == http.MethodDelete {
		if err := a.o.Engine.MayDelete(); err != nil {
			return reply.Error{Status: http.StatusBadRequest, Message: "Bad request", Details: err.Error()}
		}
	}
	switch {
	case len(r.path) > 0 && strings.EqualFold(r.path[0], "last"):
		return a.last(w, r)
	case len(r.path) > 0 && strings.EqualFold(r.path[0], "exp"):
		return a.exp(w, r)
	case len(r.path) > 0 && strings.EqualFold(r.path[0], "gexp"):
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
		if err := a.mayDelete(r); err != nil {
			return err
		}
	}
	answer, err := a.evaluated(r, parsed, text)
	if err != nil {
		return err
	}
	writeAnswer(w, r, answer)
	return nil
}

// writeAnswer prints an answer, in the call of a function if the request names one.
func writeAnswer(w http.ResponseWriter, r *request, answer *query.Answer) {
	_, encoding := tracing.Start(r.Context(), "encode")
	defer encoding.End(nil)
	before, after := reply.JSONP(r.Request)
	w.Header().Set("Content-Type", reply.ContentType)
	// A client that is gone loses the answer.
	_, _ = io.WriteString(w, before)
	_, _ = answer.WriteTo(w)
	_, _ = io.WriteString(w, after)
}

// parseQuery reads a query from the body or from the parameters. text describes it.
func parseQuery(w http.ResponseWriter, r *request) (parsed *query.Request, text string, err error) {
	if r.method != http.MethodPost {
		parsed, err = query.ParseParameters(r.URL.Query(), onlyMetrics)
		if parsed != nil && r.method == http.MethodDelete {
			parsed.Delete = true
		}
		return parsed, r.URL.RawQuery, err
	}
	body, err := readBody(w, r)
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
func (a *API) mayDelete(r *request) error {
	if err := a.o.Engine.MayDelete(); err != nil {
		return err
	}
	if a.o.Origins.Foreign(r.Request) {
		return ErrForeign
	}
	return nil
}

// evaluated computes the answer, and deletes what the query deletes. text describes the query.
func (a *API) evaluated(r *request, parsed *query.Request, text string) (answer *query.Answer, err error) {
	err = a.computed(r, text, func(ctx context.Context) error {
		if answer, err = a.o.Engine.Answer(ctx, parsed); err == nil && parsed.Delete {
			err = a.o.Engine.Delete(ctx, answer)
		}
		return err
	})
	return answer, err
}
