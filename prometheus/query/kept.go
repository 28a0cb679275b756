package query

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/httputil"

	"github.com/tsdbridge/tsdbridge/internal/budget"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
)

// The module asks a codec for a whole response and writes it at once. The text of a kept answer may
// have tens of megabytes, of which the response would be a copy. So the codec gives the module only
// the beginning of such a response, and the rest is written when the module writes the beginning.

// keptResponse is a response that may have a kept answer.
type keptResponse struct {
	http.ResponseWriter
	answer *resultcache.Answer // nil: there is none, or it was written
	after  []byte
	buffer *[]byte
}

type keptResponseKey struct{}

// rangePath is the path of range queries below Prefix.
const rangePath = "/query_range"

// sendsKept lets a handler of the module answer with kept answers. It compresses in its place,
// because what the handler writes is not the whole response.
func sendsKept(next http.Handler) http.Handler {
	buffers := &sync.Pool{New: func() any { return new([]byte) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != rangePath || r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		asked := r
		r = r.Clone(r.Context())
		r.Header.Del("Accept-Encoding")
		httputil.CompressionHandler{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			k := &keptResponse{ResponseWriter: w, buffer: buffers.Get().(*[]byte)}
			defer buffers.Put(k.buffer)
			next.ServeHTTP(k, r.WithContext(context.WithValue(r.Context(), keptResponseKey{}, k)))
		})}.ServeHTTP(w, asked)
	})
}

// Unwrap is for http.ResponseController.
func (k *keptResponse) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// WriteHeader leaves one of the two equal fields that compression here and in the module set.
func (k *keptResponse) WriteHeader(status int) {
	if vary := k.Header()["Vary"]; len(vary) > 1 && vary[0] == vary[1] {
		k.Header()["Vary"] = vary[1:]
	}
	k.ResponseWriter.WriteHeader(status)
}

// Write writes the beginning of a response and the kept answer after it.
func (k *keptResponse) Write(begin []byte) (int, error) {
	n, err := k.ResponseWriter.Write(begin)
	if err != nil || k.answer == nil {
		return n, err
	}
	err = k.writeKept()
	k.answer = nil
	return n, err
}

// keptPart is after how many bytes of a kept answer they are written.
const keptPart = 256 << 10

func (k *keptResponse) writeKept() error {
	b, first := (*k.buffer)[:0], true
	for i := range k.answer.Len() {
		begin := len(b)
		if !first {
			b = append(b, ',')
		}
		b = append(b, k.answer.Head(i)...)
		head := len(b)
		if b = k.answer.AppendPoints(b, i); len(b) == head {
			b = b[:begin]
			continue
		}
		first = false
		b = append(b[:len(b)-1], ']', '}') // in place of the last comma
		if len(b) >= keptPart {
			if _, err := k.ResponseWriter.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	b = append(append(b, "]}"...), k.after...)
	_, err := k.ResponseWriter.Write(b)
	*k.buffer = b
	return err
}

// keptAnswer is an answer with the response that it is sent by.
type keptAnswer struct {
	*resultcache.Answer
	to *keptResponse
}

// keptEngine gives kept answers to their responses.
type keptEngine struct{ promql.QueryEngine }

// NewRangeQuery returns a query whose answer may be a kept one if the request can send it.
func (e keptEngine) NewRangeQuery(ctx context.Context, q promstorage.Queryable, o promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	to, ok := ctx.Value(keptResponseKey{}).(*keptResponse)
	if !ok {
		return e.QueryEngine.NewRangeQuery(resultcache.Without(ctx), q, o, text, start, end, step)
	}
	query, err := e.QueryEngine.NewRangeQuery(ctx, q, o, text, start, end, step)
	if err != nil {
		return query, err
	}
	return keptQuery{query, to}, nil
}

type keptQuery struct {
	promql.Query
	to *keptResponse
}

// Exec runs the query.
func (q keptQuery) Exec(ctx context.Context) *promql.Result {
	result := q.Query.Exec(ctx)
	a, ok := result.Value.(*resultcache.Answer)
	if !ok {
		return result
	}
	// A part of the answer and one series more are in the buffer at most.
	if err := budget.From(ctx).Take(min(a.Bytes(), 2*keptPart)); err != nil {
		return &promql.Result{Err: outOfMemory(ctx, err)}
	}
	result.Value = keptAnswer{a, q.to}
	return result
}

// send has the answer written after the beginning of a response, and text after it.
func (a keptAnswer) send(begin string, after []byte) []byte {
	a.to.answer, a.to.after = a.Answer, after
	return []byte(begin)
}
