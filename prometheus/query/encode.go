package query

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/tracing"
)

// The module's codec is not told of which request an answer is. So the span of encoding begins when a
// query has its answer, and ends with the response: it includes the sending.

type encodingKey struct{}

// encoding is the span of the response to a request. It is used by the request's goroutine alone.
type encoding struct{ span tracing.Span }

// tracesEncoding ends the span of encoding with the response.
func tracesEncoding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tracing.ID(r.Context()) == "" {
			next.ServeHTTP(w, r)
			return
		}
		e := &encoding{}
		defer func() { e.span.End(nil) }()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), encodingKey{}, e)))
	})
}

// encodedEngine begins the spans of encoding.
type encodedEngine struct{ promql.QueryEngine }

// NewInstantQuery implements promql.QueryEngine.
func (e encodedEngine) NewInstantQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, at time.Time) (promql.Query, error) {
	query, err := e.QueryEngine.NewInstantQuery(ctx, q, o, text, at)
	return encoded(ctx, query), err
}

// NewRangeQuery implements promql.QueryEngine.
func (e encodedEngine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	query, err := e.QueryEngine.NewRangeQuery(ctx, q, o, text, start, end, step)
	return encoded(ctx, query), err
}

func encoded(ctx context.Context, query promql.Query) promql.Query {
	e, ok := ctx.Value(encodingKey{}).(*encoding)
	if !ok || query == nil {
		return query
	}
	return encodedQuery{query, e}
}

type encodedQuery struct {
	promql.Query

	to *encoding
}

// Exec runs the query.
func (q encodedQuery) Exec(ctx context.Context) *promql.Result {
	result := q.Query.Exec(ctx)
	_, q.to.span = tracing.Start(ctx, "encode")
	return result
}
