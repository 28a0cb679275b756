package netserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// DeadlineOfBody ends the read deadline of each request when its body has come. net/http goes on
// reading from the connection, to see whether the client has left, and takes the deadline of the body
// for its leaving: handlers that take longer would be cancelled.
func DeadlineOfBody(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &endingBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		if r.Body == nil || r.Body == http.NoBody {
			body.end()
		} else {
			r.Body = body
		}
		h.ServeHTTP(w, r)
	})
}

// endingBody is a body that ends its deadline.
type endingBody struct {
	io.ReadCloser

	control *http.ResponseController
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.end()
	}
	return n, err
}

// end ends the deadline. A server without deadlines (tests) has none to end.
func (b *endingBody) end() { _ = b.control.SetReadDeadline(time.Time{}) }
