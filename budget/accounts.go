package budget

import (
	"io"
	"net/http"
)

// retrySeconds is when a query that found the memory taken should come again.
const retrySeconds = "1"

// Accounts opens an account of b for each request, and closes it when the answer has been sent.
func Accounts(b *Budget) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			account := b.Open()
			defer account.Close()
			r = r.WithContext(With(r.Context(), account))
			r.Body = &chargedBody{r.Body, account}
			next.ServeHTTP(&busyWriter{w, account}, r)
		})
	}
}

// BodyCost is how much memory a byte of a body takes: what it is read into grows by doubling, and its parts are copied.
const BodyCost = 4

// chargedBody takes memory for what has come of a body, not for what is announced.
type chargedBody struct {
	io.ReadCloser
	account *Account
}

// Read reads what there is memory for.
func (b *chargedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if err := b.account.Take(int64(n) * BodyCost); err != nil {
			return 0, err
		}
	}
	return n, err
}

// busyWriter says when to come again where a request is refused for the memory that others hold.
type busyWriter struct {
	http.ResponseWriter
	account *Account
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
