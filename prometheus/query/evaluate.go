package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/httputil"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// evaluateHandler serves GET and POST of /query, or of /query_range: it reads the request, has the
// engine answer it, and writes the answer as it is encoded. Answers and errors are those of the
// Prometheus module's handlers, byte for byte (TestAsModule).
type evaluateHandler struct {
	cors   *regexp.Regexp // see Options.Origins
	engine *engine.Engine
	ranges bool // /query_range
	json   *resultWriter
	now    func() time.Time
}

// ServeHTTP answers a request whose form was read.
func (h *evaluateHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httputil.CompressionHandler{Handler: http.HandlerFunc(h.answer)}.ServeHTTP(w, r)
}

func (h *evaluateHandler) answer(w http.ResponseWriter, r *http.Request) {
	httputil.SetCORS(w, h.cors, r)
	request, err := h.request(r)
	if err != nil {
		respondError(w, badDataKind, err)
		return
	}
	ctx, cancel, err := h.context(r, &request)
	defer cancel()
	if err != nil {
		respondError(w, badDataKind, err)
		return
	}
	query, err := h.engine.Query(ctx, request.Request)
	if err != nil {
		respondError(w, badDataKind, invalid("query", err))
		return
	}
	defer query.Close()
	result := query.Exec(httputil.ContextFromRequest(ctx, r))
	if result.Err == nil {
		result.Err = reserve(ctx, result.Value)
	}
	if result.Err != nil {
		respondError(w, errorKindOf(result.Err), result.Err)
		return
	}
	_, span := tracing.Start(ctx, "encode")
	span.End(h.respond(ctx, w, &request, query, result))
}

// evaluateRequest is a request with what concerns its answer alone.
type evaluateRequest struct {
	engine.Request

	limit int    // series of the answer; 0: all
	stats string // the parameter
}

// request reads the parameters, in the order of the module: a request with several errors gets the
// same one.
func (h *evaluateHandler) request(r *http.Request) (q evaluateRequest, err error) {
	q.Text, q.stats = r.FormValue("query"), r.FormValue("stats")
	if q.limit, err = limitOf(r); err != nil {
		return q, err
	}
	if h.ranges {
		err = readRange(r, &q.Request)
	} else {
		err = readInstant(r, &q.Request, h.now())
	}
	if err != nil {
		return q, err
	}
	q.Stats, q.PerStep = q.stats != "", q.stats == "all"
	// The module cuts a matrix to a limit, and an answer that is kept is text.
	q.Whole = r.FormValue("nocache") == "1" || r.FormValue("limit") != ""
	q.Lookbacks = r.Form[lookbackParameter]
	q.Rules, err = lookbackRules(q.Lookbacks)
	return q, err
}

// context returns the context of an evaluation: the parameters timeout and lookback_delta follow the
// others in the order of the module.
func (h *evaluateHandler) context(r *http.Request, q *evaluateRequest) (context.Context, context.CancelFunc, error) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if text := r.FormValue("timeout"); text != "" {
		timeout, err := parseDuration(text)
		if err != nil {
			return ctx, cancel, invalid("timeout", err)
		}
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	if text := r.FormValue("lookback_delta"); text != "" {
		var err error
		if q.Lookback, err = parseDuration(text); err != nil {
			return ctx, cancel, fmt.Errorf("error parsing lookback delta duration: %w", err)
		}
	}
	return ctx, cancel, nil
}

// reserve takes the memory that writing an answer needs: of one that is kept, a part and one series
// more are in a buffer at most.
func reserve(ctx context.Context, v parser.Value) error {
	a, ok := v.(*resultcache.Answer)
	if !ok {
		return nil
	}
	if err := query.AccountOf(ctx).Take(min(a.Bytes(), 2*answerPart)); err != nil {
		return httpapi.QueryError(ctx, "evaluate", err)
	}
	return nil
}

// respond writes an answer.
func (h *evaluateHandler) respond(ctx context.Context, w http.ResponseWriter, q *evaluateRequest, query promql.Query, result *promql.Result) error {
	warnings := result.Warnings
	if q.limit > 0 && cut(result, q.limit) {
		warnings = warnings.Add(errors.New("results truncated due to limit"))
	}
	if q.Stats && q.stats != "true" && q.stats != "all" {
		warnings = warnings.Add(fmt.Errorf("value %q for parameter \"stats\" is deprecated and will be rejected in the next major release, use %q or %q", q.stats, "true", "all"))
	}
	warn, info := warnings.AsStrings(q.Text, 10, 10)
	return h.json.respond(w, &v1.Response{
		Status: "success", Warnings: warn, Infos: info,
		Data: &v1.QueryData{ResultType: result.Value.Type(), Result: result.Value, Stats: v1.DefaultStatsRenderer(ctx, query.Stats(), q.stats)},
	})
}

// cut cuts an answer to so many series, and reports whether it had more.
func cut(result *promql.Result, limit int) bool {
	switch v := result.Value.(type) {
	case promql.Matrix:
		if len(v) > limit {
			result.Value = v[:limit]
			return true
		}
	case promql.Vector:
		if len(v) > limit {
			result.Value = v[:limit]
			return true
		}
	}
	return false
}
