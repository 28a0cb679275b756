package webport

import (
	"net"
	"net/http"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

const (
	// grpcName is the name of the port of gRPC in metrics and messages.
	grpcName = "otlp_grpc"
	// grpcHead is about how many bytes the head of a call may have: what gRPC's own servers take by default.
	grpcHead = 8 << 10
	// grpcStreams is how many calls a connection may have at once. A sender waits for the answer to each.
	grpcStreams = 32
)

// NewGRPCServer returns the server of a port of gRPC: HTTP/2, with TLS and without. HTTP/1.1 is spoken to tell that it is
// the wrong protocol. The handler reads the bodies by itself, under limits of its own.
func NewGRPCServer(handler http.Handler, o Options) *http.Server {
	s := newServer(grpcName, headGuard{o.Hosts.Guard(ownBodies(handler), o.Logger)}, o)
	s.MaxHeaderBytes, s.HTTP2.MaxConcurrentStreams = grpcHead, grpcStreams
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// ListenGRPC returns the port of gRPC over a listener. It counts no bytes of heads: a connection of HTTP/2 decodes one
// head at a time, and has grpcStreams of them at most.
func ListenGRPC(l net.Listener, o Options) net.Listener {
	return netserver.NewPort(l, netserver.PortOptions{
		What: "OTLP over gRPC", Flag: "--web.max-connections", Max: o.MaxConnections, Name: grpcName, Logger: o.Logger, Registerer: o.Registerer,
	})
}

// ownBodies has a connection count as working from when the body of a request has come.
func ownBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &ownBody{ReadCloser: r.Body, conn: netserver.ConnOf(r.Context())}
		r.Body = body
		defer body.end()
		next.ServeHTTP(w, r)
	})
}
