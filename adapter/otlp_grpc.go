package adapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/tsdbridge/tsdbridge/adapter/webport"
)

// A grpcPort is the port of OTLP over gRPC; nil: there is none.
type grpcPort struct {
	server   *http.Server
	listener net.Listener
}

// openGRPC binds the port of OTLP over gRPC. Its requests have the limits, the passwords and the TLS of HTTP's.
func (a *Adapter) openGRPC() error {
	if a.o.OTLPGRPCAddress == "" {
		return nil
	}
	listener, err := a.o.Sockets.Listen(context.Background(), net.ListenConfig{}, a.o.OTLPGRPCAddress)
	if err != nil {
		return fmt.Errorf("--otlp.grpc-listen-address: %w", err)
	}
	a.grpc = &grpcPort{
		server:   webport.NewGRPCServer(a.protect(a.o.Tracer.Handler(a.prometheus.GRPC())), a.webPort()),
		listener: webport.ListenGRPC(listener, a.webPort()),
	}
	a.o.Logger.Info("listening", "protocol", "OTLP over gRPC", "address", a.GRPCAddr())
	return nil
}

// GRPCAddr returns the address of the listener of OTLP over gRPC, empty without one.
func (a *Adapter) GRPCAddr() string {
	if a.grpc == nil {
		return ""
	}
	return a.grpc.listener.Addr().String()
}

func (a *Adapter) serveGRPC() error {
	if a.grpc == nil {
		return nil
	}
	if err := a.serveOn(a.grpc.listener, a.grpc.server); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve OTLP over gRPC: %w", err)
	}
	return nil
}

// close frees the address, for an Adapter that never ran.
func (p *grpcPort) close() error {
	if p == nil {
		return nil
	}
	return p.listener.Close()
}
