package queries

import (
	"context"
	"io"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/opentsdb/expression"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// gexp answers /api/query/gexp: the functions in exp of the metrics in them.
func (a *API) gexp(w http.ResponseWriter, r *httpapi.Request) error {
	if r.Verb == http.MethodPost {
		return query.RequestError{Message: "Expressions are in the parameter exp of a GET"}
	}
	var trees []*expression.Tree
	_, parsing := tracing.Start(r.Context(), "parse")
	parsed, err := query.ParseParameters(r.URL.Query(), func(texts []string) (metrics []string, err error) {
		trees, metrics, err = expression.ParseTrees(texts)
		return metrics, err
	})
	parsing.End(err)
	if err != nil {
		return err
	}
	if err := a.check(parsed); err != nil {
		return err
	}
	if r.Verb == http.MethodDelete {
		return a.gexpDeleted(w, r, parsed, trees)
	}
	q := question{text: r.URL.RawQuery, key: "gexp " + r.ParametersKey(), compute: func(ctx context.Context) (io.WriterTo, error) {
		if err := parsed.Check(a.o.Now()); err != nil { // the times that it means now
			return nil, err
		}
		answer, _, err := a.gexpNow(ctx, parsed, trees)
		return answer, err
	}}
	return a.answered(w, r, q)
}

// gexpNow computes functions of series.
func (a *API) gexpNow(ctx context.Context, parsed *query.Request, trees []*expression.Tree) (answer *query.Answer, series [][]query.Series, err error) {
	answer = &query.Answer{Request: parsed}
	if answer.Globals, err = a.o.Engine.GlobalsOf(ctx, parsed); err != nil {
		return nil, nil, err
	}
	if series, err = a.o.Engine.Series(ctx, parsed); err != nil {
		return nil, nil, err
	}
	start, end := parsed.Times()
	answer.Groups, err = expression.Evaluate(trees, series, expression.Environment{Start: start, End: end, Annotations: !parsed.NoAnnotations, Means: means(ctx)})
	return answer, series, err
}

// gexpDeleted answers, and deletes what the functions were computed of.
func (a *API) gexpDeleted(w http.ResponseWriter, r *httpapi.Request, parsed *query.Request, trees []*expression.Tree) error {
	if err := a.mayDelete(r); err != nil {
		return err
	}
	var answer *query.Answer
	err := a.evaluator.Compute(r.Context(), r.RemoteAddr, r.URL.RawQuery, func(ctx context.Context) (err error) {
		var series [][]query.Series
		if answer, series, err = a.gexpNow(ctx, parsed, trees); err == nil {
			err = a.o.Engine.Delete(ctx, answerOf(parsed, series))
		}
		return err
	})
	if err != nil {
		return err
	}
	writeAnswer(w, r, answer)
	return nil
}

// answerOf returns the answer to a request without its expressions.
func answerOf(r *query.Request, series [][]query.Series) *query.Answer {
	a := &query.Answer{Request: r}
	for _, set := range series {
		for i := range set {
			a.Groups = append(a.Groups, set[i].Group)
		}
	}
	return a
}
