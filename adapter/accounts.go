package adapter

import (
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/budget"
)

// newBudget makes the budget of all queries, with its metrics.
func newBudget(o Options, registerer prometheus.Registerer) *budget.Budget {
	b := budget.New(o.queryMemory())
	factory := promauto.With(registerer)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_memory_limit_bytes",
		Help: "Memory that the answers to all queries may hold together (" + budget.Flag + ").",
	}, func() float64 { return float64(b.Limit()) })
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_query_memory_used_bytes",
		Help: "Memory that queries under way hold.",
	}, func() float64 { return float64(b.Used()) })
	factory.NewCounterFunc(prometheus.CounterOpts{
		Name: "tsdbridge_query_memory_refused_total",
		Help: "Times that a query was refused memory.",
	}, func() float64 { return float64(b.Refused()) })
	return b
}

// queryMemory is the size of the budget, in bytes.
func (o Options) queryMemory() int64 {
	if o.QueryMemory > 0 {
		return o.QueryMemory
	}
	return machineMemory() / 4
}

// retrySeconds is when a query that found the memory taken should come again.
const retrySeconds = "1"

// accounts opens an account of b for each request, and closes it when the answer has been sent.
func accounts(b *budget.Budget) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			account := b.Open()
			defer account.Close()
			r = r.WithContext(budget.With(r.Context(), account))
			r.Body = &chargedBody{r.Body, account}
			next.ServeHTTP(&busyWriter{w, account}, r)
		})
	}
}

// bodyCost is how much memory a byte of a body takes: what it is read into grows by doubling, and its parts are copied.
const bodyCost = 4

// chargedBody takes memory for what has come of a body, not for what is announced.
type chargedBody struct {
	io.ReadCloser
	account *budget.Account
}

// Read reads what there is memory for.
func (b *chargedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if err := b.account.Take(int64(n) * bodyCost); err != nil {
			return 0, err
		}
	}
	return n, err
}

// busyWriter says when to come again where a request is refused for the memory that others hold.
type busyWriter struct {
	http.ResponseWriter
	account *budget.Account
}

// WriteHeader sends the status.
func (w *busyWriter) WriteHeader(status int) {
	if status == http.StatusServiceUnavailable && w.account.Busy() {
		w.Header().Set("Retry-After", retrySeconds)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *busyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
