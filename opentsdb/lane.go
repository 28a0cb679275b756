package opentsdb

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/intake"
)

// lane serves the puts of one connection of HTTP without net/http, whose general ways cost as much as fifty points do: senders put few points in a
// request. At the first request of another kind the connection goes to net/http for good. Answers come from the same handler.
type lane struct {
	*server
	conn     net.Conn
	stopping <-chan struct{} // closed when the process is told to stop
	buf      []byte          // buf[start:] has been read and not been looked at
	start    int
	request  *http.Request
	left     int // bytes of the request's body that nobody has read
	answer   laneAnswer
	out      []byte
}

// laneBuffer holds a request of 50 points.
const laneBuffer = 16 << 10

// newLane returns the lane of a connection that began with first.
func (s *server) newLane(ctx, writeCtx context.Context, conn net.Conn, first []byte) *lane {
	l := &lane{server: s, conn: conn, stopping: ctx.Done(), buf: append(make([]byte, 0, max(laneBuffer, len(first))), first...)}
	l.answer = laneAnswer{header: http.Header{}, conn: conn}
	l.request = (&http.Request{
		Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, RemoteAddr: conn.RemoteAddr().String(),
		Body: laneBody{l},
	}).WithContext(intake.WithConn(writeCtx, conn))
	return l
}

// serve answers puts until the connection is to be closed, or, then it returns what it has read of it, is for net/http.
func (l *lane) serve(ctx context.Context) (rest []byte) {
	for {
		head, n := parsePutHead(l.buf[l.start:])
		if n == 0 || head.length > l.maxBody {
			return l.buf[l.start:]
		}
		l.start += n
		if !l.put(ctx, head) || ctx.Err() != nil {
			return nil
		}
		if l.start < len(l.buf) {
			continue // the client did not wait for the answer
		}
		if l.wait(ctx) != nil {
			return nil
		}
	}
}

// put has one request answered.
func (l *lane) put(ctx context.Context, head putHead) (ok bool) {
	defer func() {
		if v := recover(); v != nil { // as net/http does
			l.o.Logger.ErrorContext(ctx, "opentsdb put panicked", "panic", v, "stack", string(debug.Stack()))
			ok = false
		}
	}()
	l.metrics.laneRequests.Inc()
	l.left = head.length
	if l.left > len(l.buf)-l.start && l.conn.SetReadDeadline(time.Now().Add(requestTimeout)) != nil {
		return false
	}
	r := l.request
	r.URL, r.ContentLength = &url.URL{Path: "/api/put", RawQuery: head.query}, int64(head.length)
	clear(r.Header)
	if head.encoding != "" {
		r.Header.Set("Content-Encoding", head.encoding)
	}
	l.answer.reset()
	l.handler.ServeHTTP(&l.answer, r)
	ok = true
	if l.left > 0 { // behind it the next request begins
		_, err := io.Copy(io.Discard, laneBody{l})
		if ok = err == nil; !ok {
			l.answer.header.Set("Connection", "close")
		}
	}
	l.out = l.answer.appendTo(l.out[:0], l.o.Now())
	_, err := l.conn.Write(l.out)
	return ok && err == nil
}

// wait reads the beginning of the next request.
func (l *lane) wait(ctx context.Context) error {
	deadline := time.Time{}
	if l.o.IdleTimeout > 0 {
		deadline = time.Now().Add(l.o.IdleTimeout)
	}
	if err := l.conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := l.conn.Read(l.buf[:cap(l.buf)])
	l.buf, l.start = l.buf[:n], 0
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// laneBody is the body of the request that a lane serves.
type laneBody struct{ lane *lane }

// Read implements io.Reader.
func (b laneBody) Read(p []byte) (n int, err error) {
	l := b.lane
	if l.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), l.left)]
	if l.start < len(l.buf) {
		n = copy(p, l.buf[l.start:])
		l.start += n
	} else {
		n, err = l.read(p)
	}
	if l.left -= n; l.left == 0 {
		return n, io.EOF
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// read reads from the connection. That the process is told to stop ends waiting for requests, but no request.
func (l *lane) read(p []byte) (n int, err error) {
	n, err = l.conn.Read(p)
	if !errors.Is(err, os.ErrDeadlineExceeded) || l.stopping == nil {
		return n, err
	}
	select {
	case <-l.stopping:
		l.stopping = nil
	default:
		return n, err
	}
	if err := l.conn.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil || n > 0 {
		return n, err
	}
	return l.conn.Read(p)
}

// Close implements io.Closer.
func (laneBody) Close() error { return nil }

// laneAnswer is an http.ResponseWriter.
type laneAnswer struct {
	conn   net.Conn
	header http.Header
	status int
	body   []byte
}

func (a *laneAnswer) reset() {
	clear(a.header)
	a.status, a.body = 0, a.body[:0]
	if cap(a.body) > laneBuffer {
		a.body = nil
	}
}

// SetReadDeadline is for http.ResponseController.
func (a *laneAnswer) SetReadDeadline(t time.Time) error { return a.conn.SetReadDeadline(t) }

// Header implements http.ResponseWriter.
func (a *laneAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *laneAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *laneAnswer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, b...)
	return len(b), nil
}

// appendTo appends the answer as it is sent.
func (a *laneAnswer) appendTo(b []byte, now time.Time) []byte {
	a.WriteHeader(http.StatusOK)
	b = strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(a.status), 10)
	b = append(append(append(b, ' '), http.StatusText(a.status)...), lineEnd...)
	for name, values := range a.header {
		for _, value := range values {
			b = append(append(append(b, name...), ": "...), value...)
			b = append(b, lineEnd...)
		}
	}
	b = now.UTC().AppendFormat(append(b, "Date: "...), http.TimeFormat)
	b = append(b, lineEnd...)
	if a.status != http.StatusNoContent {
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(a.body)), 10)
		b = append(b, lineEnd...)
	}
	return append(append(b, lineEnd...), a.body...)
}
