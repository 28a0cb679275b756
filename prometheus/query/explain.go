package query

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

// explainPath evaluates a query and shows how.
const explainPath = Prefix + "/status/explain"

// explainHandler serves GET and POST /api/v1/status/explain: it evaluates a query and answers with
// the operators, what they found, and the time they took. The parameters query, time, start, end,
// step and timeout are those of /api/v1/query and /api/v1/query_range. Answers that are kept are not
// used.
type explainHandler struct {
	engine    promql.QueryEngine
	queryable *queryable.Store
	plans     *planHandler // nil: reads are shown without their plans
	now       func() time.Time
}

// ServeHTTP evaluates the query and answers with the explanation.
func (h *explainHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodHead {
		httpapi.RefuseMethod(w, r, "GET, HEAD, POST")
		return
	}
	data, err := h.explain(r)
	if err != nil {
		httpapi.APIError(w, err)
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: data})
}

func (h *explainHandler) explain(r *http.Request) (*query.Explanation, error) {
	ctx := r.Context()
	if r.Form.Get("timeout") != "" {
		timeout, err := parseDuration(r.Form.Get("timeout"))
		if err != nil {
			return nil, badData(invalid("timeout", err))
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	x := &query.Explanation{Language: "promql", Query: r.Form.Get("query")}
	q, err := h.query(ctx, r, x)
	if err != nil {
		return nil, badData(err)
	}
	defer q.Close()
	begin := time.Now()
	result := q.Exec(ctx)
	x.Seconds = time.Since(begin).Seconds()
	if result.Err != nil {
		return nil, evaluationError(result.Err)
	}
	x.Memory = query.AccountOf(ctx).Most()
	x.Count(query.TallyOf(ctx))
	x.Series, x.Samples = sizeOf(result.Value)
	x.Warnings, x.Infos = result.Warnings.AsStrings(x.Query, 0, 0)
	return x, h.describe(ctx, x, rangeql.Explain(q))
}

// evaluationError returns the error of an evaluation with its status: an error of the query, if it is
// no other.
func evaluationError(err error) error {
	if _, ok := httpapi.QueryStatus(err); ok {
		return err
	}
	return httpapi.WithStatus(http.StatusUnprocessableEntity, err)
}

// query makes the query of a request: for a range, if the request has a start, an end or a step.
func (h *explainHandler) query(ctx context.Context, r *http.Request, x *query.Explanation) (promql.Query, error) {
	options := promql.NewPrometheusQueryOpts(false, 0)
	var q engine.Request
	if !r.Form.Has("start") && !r.Form.Has("end") && !r.Form.Has("step") {
		if err := readInstant(r, &q, h.now()); err != nil {
			return nil, err
		}
		x.Start, x.End = q.Start, q.End
		return h.engine.NewInstantQuery(ctx, h.queryable, options, x.Query, x.Start)
	}
	if r.Form.Get("start") == "" || r.Form.Get("end") == "" {
		return nil, errors.New("a range query needs start, end and step")
	}
	if err := readRange(r, &q); err != nil {
		return nil, err
	}
	x.Start, x.End, x.Step = q.Start, q.End, q.Step.Seconds()
	return h.engine.NewRangeQuery(ctx, h.queryable, options, x.Query, x.Start, x.End, q.Step)
}

// sizeOf returns how many series and samples an answer has.
func sizeOf(v parser.Value) (series, samples int) {
	switch v := v.(type) {
	case promql.Vector:
		return len(v), len(v)
	case promql.Matrix:
		for _, s := range v {
			samples += len(s.Floats) + len(s.Histograms)
		}
		return len(v), samples
	}
	return 1, 1
}

// describe adds the operators and the reads.
func (h *explainHandler) describe(ctx context.Context, x *query.Explanation, e rangeql.Explanation) error {
	x.Path, x.Left = e.Path, e.Left
	x.Plan, x.Reads = e.Shape()
	if h.plans == nil {
		return nil
	}
	for i, r := range e.Reads {
		plan, err := h.plans.plan(ctx, []planSelection{{r.Start, r.End, r.Matchers}})
		if err != nil {
			return evaluationError(err)
		}
		x.Reads[i].Plans = plan.Groups
	}
	return nil
}
