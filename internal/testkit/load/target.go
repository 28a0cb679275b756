package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// A Target is the address of a server for a format.
type Target struct {
	URL  string // of the HTTP formats
	Addr string // host:port of the others
}

// connection sends requests to a server.
type connection interface {
	send(ctx context.Context, body []byte) error
	// finish returns when the server has read everything.
	finish(ctx context.Context) error
	close()
}

func (t Target) dial(ctx context.Context, f Format) (connection, error) {
	switch f {
	case Carbon, CarbonTagged, Telnet:
		return dialLines(ctx, t.Addr)
	default:
		transport := &http.Transport{MaxConnsPerHost: 1, DisableCompression: true, WriteBufferSize: 256 << 10}
		return &poster{client: http.Client{Transport: transport, Timeout: time.Minute}, url: t.URL, header: f.header()}, nil
	}
}

func (f Format) header() http.Header {
	h := http.Header{"User-Agent": {"tsdbridge-bench"}}
	switch f {
	case RemoteWrite1:
		h.Set("Content-Encoding", "snappy")
		h.Set("Content-Type", "application/x-protobuf")
		h.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	case RemoteWrite2:
		h.Set("Content-Encoding", "snappy")
		h.Set("Content-Type", "application/x-protobuf;proto=io.prometheus.write.v2.Request")
		h.Set("X-Prometheus-Remote-Write-Version", "2.0.0")
	case OTLP:
		h.Set("Content-Type", "application/x-protobuf")
	default:
		h.Set("Content-Type", "application/json")
	}
	return h
}

// poster sends each request as the body of a POST.
type poster struct {
	client http.Client
	url    string
	header http.Header
}

// statusError is an answer with a status of an error.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.status, e.text) }

// isBusy reports whether the server asked to try again.
func isBusy(err error) bool {
	var status *statusError
	return errors.As(err, &status) && (status.status == http.StatusServiceUnavailable || status.status == http.StatusTooManyRequests)
}

func (p *poster) send(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = p.header
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return &statusError{resp.StatusCode, string(bytes.TrimSpace(text[:min(len(text), 400)]))}
	}
	return nil
}

func (p *poster) finish(context.Context) error { return nil }

func (p *poster) close() { p.client.CloseIdleConnections() }

// liner writes lines to a TCP connection. Each line of the server is a complaint about one of them.
type liner struct {
	conn  *net.TCPConn
	said  chan error   // how reading ended: nil when the server closed the connection in order
	lines atomic.Int64 // of complaints
	first atomic.Pointer[string]
}

func dialLines(ctx context.Context, addr string) (*liner, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &liner{conn: conn.(*net.TCPConn), said: make(chan error, 1)}
	go l.listen()
	return l, nil
}

func (l *liner) listen() {
	buf := make([]byte, 4096)
	for {
		n, err := l.conn.Read(buf)
		if n > 0 {
			l.lines.Add(int64(bytes.Count(buf[:n], []byte("\n"))))
			text := string(buf[:n])
			l.first.CompareAndSwap(nil, &text)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			l.said <- err
			return
		}
	}
}

func (l *liner) send(ctx context.Context, body []byte) error {
	stop := context.AfterFunc(ctx, func() { l.conn.Close() })
	defer stop()
	_, err := l.conn.Write(body)
	return err
}

func (l *liner) finish(ctx context.Context) error {
	if err := l.conn.CloseWrite(); err != nil {
		return err
	}
	const waitTimeout = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	select {
	case err := <-l.said:
		if err != nil {
			return fmt.Errorf("end of the connection: %w", err)
		}
	case <-ctx.Done():
		return fmt.Errorf("the server did not close the connection: %w", ctx.Err())
	}
	if text := l.first.Load(); text != nil {
		return fmt.Errorf("%d complaints, first: %.200s", l.lines.Load(), *text)
	}
	return nil
}

func (l *liner) close() { l.conn.Close() }
