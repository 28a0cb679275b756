// Package webport guards the HTTP port: it bounds connections, heads and bodies, answers probes under overload, counts answers, and
// serves Go's profiles one at a time. It knows no route besides.
package webport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
)

const (
	// reserve is how many connections are accepted in addition to --web.max-connections, for
	// requests that must always be answered.
	reserve = 16
	// head is about how many bytes the head of a request may have, and fields how many
	// fields. Each field takes some 200 bytes in addition to its own.
	head   = 64 << 10
	fields = 200
	// heads is how many bytes all long heads together may have.
	heads = 4 << 20
	// headTime is how long a client may take for a head.
	headTime = 10 * time.Second
	// retryAfter is when a client that was refused should try again, in seconds.
	retryAfter = "5"
)

// portName is the name of the HTTP port in metrics and messages.
const portName = "http"

// Options are the bounds of a port, and the names by which browsers may reach it.
type Options struct {
	MaxConnections int // --web.max-connections
	BodyBytes      int // --web.max-body-bytes: of a request
	InFlightBytes  int // of all bodies, but for writes
	Hosts          *netserver.Hosts
	Logger         *slog.Logger
	Registerer     prometheus.Registerer
}

// NewServer returns the server of the port. The port itself closes connections whose client does not read.
func NewServer(handler http.Handler, o Options) *http.Server {
	return newServer(portName, newResponseCounter(o.Registerer).handler(headGuard{o.Hosts.Guard(handler, o.Logger)}), o)
}

// newServer returns a server with the bounds that all ports have.
func newServer(name string, handler http.Handler, o Options) *http.Server {
	return &http.Server{
		Handler: handler, ErrorLog: netserver.NewErrorLog(name, o.Logger, o.Registerer).Std(),
		ReadHeaderTimeout: headTime, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: head, ConnContext: netserver.WithConn,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 64, MaxReadFrameSize: 64 << 10, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 128 << 10,
		},
	}
}

// Listen returns the port over a listener.
func Listen(l net.Listener, o Options) net.Listener {
	return netserver.NewPort(l, netserver.PortOptions{
		What: portName, Flag: "--web.max-connections", Max: o.MaxConnections, Reserve: reserve, HeadBytes: heads, Name: portName,
		Logger: o.Logger, Registerer: o.Registerer,
	})
}

// A headGuard checks the head of a request before any other handler.
type headGuard struct{ next http.Handler }

// ServeHTTP implements http.Handler.
func (h headGuard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := netserver.ConnOf(r.Context())
	conn.Headed()
	defer conn.Answered()
	switch {
	case len(r.Header) > fields:
		refuse(w, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("more than %d fields in the head of the request", fields))
	case conn.Reserve() && !vital(r.URL.Path):
		refuse(w, http.StatusServiceUnavailable, "all connections are at work (--web.max-connections), try again later")
	default:
		h.next.ServeHTTP(w, r)
	}
}

// A guard stands between the check of passwords and all routes. It reads bodies completely,
// except those of remote write, which has limits of its own. So a handler has the whole request
// from the beginning, and slow senders hold only the bytes that have arrived.
//
// Its netserver.Gate is another one than that of remote write: each has its own flags, and queries
// must not keep writes out.
type guard struct {
	next   http.Handler
	writes http.Handler // of remote write
	limit  int          // bytes of a body
	gate   *netserver.Gate
}

// NewGuard returns what stands between the check of passwords and all routes. writes is the handler of remote write.
func NewGuard(next, writes http.Handler, o Options) http.Handler {
	g := &guard{next: next, writes: writes, limit: o.BodyBytes, gate: netserver.NewGate(o.MaxConnections, o.InFlightBytes)}
	o.Registerer.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_web_requests_in_flight", Help: "HTTP requests being served."},
			func() float64 { return float64(g.gate.Requests()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_web_in_flight_bytes", Help: "Bodies of HTTP requests being received or served, but for writes."},
			func() float64 { return float64(g.gate.Bytes()) }),
	)
	return g
}

// vital reports whether a path must be answered even under overload, because it shows whether the
// process lives.
func vital(path string) bool {
	return path == "/-/healthy" || path == "/-/ready" || path == "/metrics"
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := netserver.ConnOf(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		g.serve(w, r, conn)
		return
	}
	if prom.ReadsBody(r.URL.Path) {
		body := &ownBody{ReadCloser: r.Body, conn: conn}
		r.Body = body
		defer body.end()
		if r.Method == http.MethodPost && r.URL.RawPath == "" {
			g.writes.ServeHTTP(w, r) // what the router would do
			return
		}
		g.next.ServeHTTP(w, r)
		return
	}
	share := &netserver.Share{Gate: g.gate}
	defer share.Release()
	content, err := g.receive(w, r, share)
	if err != nil {
		if errors.Is(err, netserver.ErrTooLarge) || errors.Is(err, netserver.ErrBusy) {
			share.Release()
			netserver.Drain(w, r)
		}
		g.fail(w, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(content))
	g.serve(w, r, conn)
}

// serve passes on a request that has been received completely.
func (g *guard) serve(w http.ResponseWriter, r *http.Request, conn *netserver.Conn) {
	if !vital(r.URL.Path) {
		if !g.gate.Enter() { // HTTP/2 has many requests on one connection
			refuse(w, http.StatusServiceUnavailable, "too many requests at once (--web.max-connections), try again later")
			return
		}
		defer g.gate.Leave()
	}
	conn.Begin()
	defer conn.End(true)
	g.next.ServeHTTP(w, r)
}

// receive reads a body.
func (g *guard) receive(w http.ResponseWriter, r *http.Request, share *netserver.Share) ([]byte, error) {
	if r.ContentLength > int64(g.limit) {
		return nil, netserver.ErrTooLarge
	}
	return netserver.Receive(nil, w, r, g.limit, share)
}

func (g *guard) fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, netserver.ErrTooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a body of more than %d bytes (--web.max-body-bytes)", g.limit))
	case errors.Is(err, netserver.ErrBusy):
		refuse(w, http.StatusServiceUnavailable, "too many bytes of requests at once (4 × --web.max-body-bytes), try again later")
	case errors.Is(err, netserver.ErrLate):
		refuse(w, http.StatusRequestTimeout, err.Error())
	default:
		refuse(w, http.StatusBadRequest, "read body: "+err.Error())
	}
}

// refuse answers a request without serving it, and closes its connection: what else was sent on it
// is not read.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Connection", "close")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	http.Error(w, text, status)
}

// ownBody is a body that its handler reads. When it has been read, the connection counts as
// working.
type ownBody struct {
	io.ReadCloser
	conn  *netserver.Conn
	whole bool
}

// Read implements io.Reader.
func (b *ownBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.whole {
		b.whole = true
		b.conn.Begin()
	}
	return n, err
}

// end marks the request as answered.
func (b *ownBody) end() {
	if b.whole {
		b.conn.End(true)
	}
}
