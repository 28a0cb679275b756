package api

import (
	"context"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/expression"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/tracing"
)

// gexp answers /api/query/gexp: the functions in exp of the metrics in them.
func (a *API) gexp(w http.ResponseWriter, r *request) error {
	if r.method == http.MethodPost {
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
	if r.method == http.MethodDelete {
		if err := a.mayDelete(r); err != nil {
			return err
		}
	}
	answer := &query.Answer{Request: parsed}
	err = a.computed(r, r.URL.RawQuery, func(ctx context.Context) (err error) {
		if answer.Globals, err = a.o.Engine.GlobalsOf(ctx, parsed); err != nil {
			return err
		}
		series, err := a.o.Engine.Series(ctx, parsed)
		if err != nil {
			return err
		}
		start, end := parsed.Times()
		answer.Groups, err = expression.Evaluate(trees, series, expression.Environment{Start: start, End: end, Annotations: !parsed.NoAnnotations, Means: means(ctx)})
		if err == nil && r.method == http.MethodDelete {
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
