package client

import (
	"io"
	"net/http"
)

// A HandlerTransport lets a handler of this process answer requests, as they are read.
type HandlerTransport struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t HandlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	from, to := io.Pipe()
	w := &handlerWriter{to: to, header: http.Header{}, begun: make(chan struct{})}
	go func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic with this value is that of a server
				panic(p)
			} else if p != nil {
				w.begin(http.StatusOK)
				_ = to.CloseWithError(io.ErrUnexpectedEOF) // it returns no error
			}
		}()
		t.Handler.ServeHTTP(w, r)
		w.begin(http.StatusOK)
		_ = to.Close() // it returns no error
	}()
	<-w.begun
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: from, ContentLength: -1, Request: r,
	}, nil
}

// A handlerWriter hands on what a handler writes.
type handlerWriter struct {
	to     *io.PipeWriter
	header http.Header
	begun  chan struct{} // closed when the rest is set
	sent   http.Header
	status int
}

// Header implements http.ResponseWriter.
func (w *handlerWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *handlerWriter) WriteHeader(status int) { w.begin(status) }

// Write implements http.ResponseWriter.
func (w *handlerWriter) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.to.Write(b)
}

func (w *handlerWriter) begin(status int) {
	if w.sent == nil {
		w.sent, w.status = w.header.Clone(), status
		close(w.begun)
	}
}
