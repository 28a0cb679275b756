package query

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// A query that was refused because of others is asked to wait for as long as these are expected to take, between
// leastRetry and mostRetry seconds. How long others will hold memory is not known.
const leastRetry, mostRetry = 1, 30

// Accounts is middleware that opens an account of b for each request, and closes it when the answer
// has been sent.
func Accounts(b *Budget) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			account := b.Open()
			defer account.Close()
			r = r.WithContext(WithAccount(r.Context(), account))
			r.Body = &chargedBody{r.Body, account}
			next.ServeHTTP(&busyWriter{w, account}, r)
		})
	}
}

// BodyCost is how much memory a byte of a body takes: its buffer grows by doubling, and its parts
// are copied.
const BodyCost = 4

// chargedBody takes memory for the bytes that have arrived, not for those that were announced.
type chargedBody struct {
	io.ReadCloser
	account *Account
}

// Read reads as much as there is memory for.
func (b *chargedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if err := b.account.Take(int64(n) * BodyCost); err != nil {
			return 0, err
		}
	}
	return n, err
}

// retryAfter returns how many seconds a client should wait before it asks again.
func (a *Account) retryAfter() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(min(max((a.wait+time.Second-1)/time.Second, leastRetry), mostRetry))
}

// busyWriter adds Retry-After to an answer that refuses a request because other requests hold the
// memory, or are before it.
type busyWriter struct {
	http.ResponseWriter
	account *Account
}

// WriteHeader sends the status.
func (w *busyWriter) WriteHeader(status int) {
	if status == http.StatusServiceUnavailable && w.account.Busy() {
		w.Header().Set("Retry-After", strconv.Itoa(w.account.retryAfter()))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *busyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
