package adapter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/adapter/webconfig"
	"github.com/tsdbridge/tsdbridge/adapter/webport"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/web"
)

// ports are those of HTTP and of OTLP over gRPC, with the passwords, the TLS and the limits of their connections.
type ports struct {
	options    Options
	registerer prometheus.Registerer
	server     *http.Server
	listener   net.Listener // nil when the address is empty
	grpc       *grpcPort

	webConfig *webconfig.File  // nil: neither TLS nor passwords
	hosts     *netserver.Hosts // of all HTTP ports
}

// openWebConfig reads the file with the TLS settings and the passwords.
func (p *ports) openWebConfig() (err error) {
	if p.options.WebConfigFile == "" {
		return nil
	}
	if p.webConfig, err = webconfig.Open(p.options.WebConfigFile, p.options.Logger); err != nil {
		return fmt.Errorf("--web.config.file: %w", err)
	}
	p.webConfig.Register(p.registerer)
	return nil
}

// protect has a handler ask for the passwords of the web configuration, if it has any.
func (p *ports) protect(handler http.Handler) http.Handler {
	if p.webConfig == nil {
		return handler
	}
	return p.webConfig.Handler(handler)
}

// tls returns how other ports than the web port encrypt; nil: they do not.
func (p *ports) tls() *tls.Config {
	if p.webConfig == nil {
		return nil
	}
	return p.webConfig.TLS()
}

// webPort returns the options of the HTTP port.
func (p *ports) webPort() webport.Options {
	return webport.Options{
		MaxConnections: p.options.MaxConnections, BodyBytes: p.options.WebBodyBytes, InFlightBytes: p.options.webInFlightBytes(),
		Hosts: p.hosts, Logger: p.options.Logger, Registerer: p.registerer,
	}
}

// Addr returns the address of the HTTP listener, empty without one.
func (p *ports) Addr() string {
	if p.listener == nil {
		return ""
	}
	return p.listener.Addr().String()
}

// shutdown ends the servers of HTTP and gRPC when they have answered what is under way, at the latest when ctx ends.
func (p *ports) shutdown(ctx context.Context) error {
	servers := []*http.Server{p.server}
	if p.grpc != nil {
		servers = append(servers, p.grpc.server)
	}
	var all errgroup.Group
	for _, server := range servers {
		all.Go(func() error {
			err := server.Shutdown(ctx)
			if err == nil {
				return nil
			}
			p.options.Logger.Warn("requests were still under way and are cut off unanswered; --web.shutdown-grace gives them longer", "err", err)
			return server.Close()
		})
	}
	return all.Wait()
}

func (p *ports) serve() error {
	if p.listener == nil {
		return nil
	}
	if err := p.serveOn(p.listener, p.server); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// serveOn serves a port, with TLS if the web configuration has it.
func (p *ports) serveOn(listener net.Listener, server *http.Server) error {
	if p.webConfig == nil {
		return server.Serve(listener)
	}
	return p.webConfig.Serve(listener, server)
}

// listenHTTP binds the HTTP port. Remote write and its kind, which read bodies as they come, go to writes, other requests to routes.
func (p *ports) listenHTTP(routes, writes http.Handler) error {
	prefix, err := web.Prefix(p.options.ExternalURL)
	if err != nil {
		return fmt.Errorf("--web.external-url: %w", err)
	}
	handler := webport.CleanPaths(web.Under(prefix, prom.OtherPaths(webport.NewGuard(routes, writes, p.webPort()))))
	p.server = webport.NewServer(p.protect(p.options.Tracer.Handler(handler)), p.webPort())
	if p.options.ListenAddress == "" {
		return nil
	}
	listener, err := p.options.Sockets.Listen(context.Background(), net.ListenConfig{}, p.options.ListenAddress)
	if err != nil {
		return fmt.Errorf("--web.listen-address: %w", err)
	}
	p.listener = webport.Listen(listener, p.webPort())
	p.options.Logger.Info("listening", "protocol", "http", "address", p.listener.Addr().String())
	return nil
}

// A grpcPort is the port of OTLP over gRPC; nil: there is none.
type grpcPort struct {
	server   *http.Server
	listener net.Listener
}

// listenGRPC binds the port of OTLP over gRPC. Its requests have the limits, the passwords and the TLS of HTTP's.
func (p *ports) listenGRPC(handler http.Handler) error {
	if p.options.OTLPGRPCAddress == "" {
		return nil
	}
	listener, err := p.options.Sockets.Listen(context.Background(), net.ListenConfig{}, p.options.OTLPGRPCAddress)
	if err != nil {
		return fmt.Errorf("--otlp.grpc-listen-address: %w", err)
	}
	p.grpc = &grpcPort{
		server:   webport.NewGRPCServer(p.protect(p.options.Tracer.Handler(handler)), p.webPort()),
		listener: webport.ListenGRPC(listener, p.webPort()),
	}
	p.options.Logger.Info("listening", "protocol", "OTLP over gRPC", "address", p.GRPCAddr())
	return nil
}

// GRPCAddr returns the address of the listener of OTLP over gRPC, empty without one.
func (p *ports) GRPCAddr() string {
	if p.grpc == nil {
		return ""
	}
	return p.grpc.listener.Addr().String()
}

func (p *ports) serveGRPC() error {
	if p.grpc == nil {
		return nil
	}
	if err := p.serveOn(p.grpc.listener, p.grpc.server); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve OTLP over gRPC: %w", err)
	}
	return nil
}

// close frees the address, for an Adapter that never ran.
func (g *grpcPort) close() error {
	if g == nil {
		return nil
	}
	return g.listener.Close()
}

// closePorts frees the addresses, for an Adapter that never ran.
func (p *ports) closePorts() error {
	var err error
	if p.listener != nil {
		err = p.listener.Close()
	}
	return errors.Join(err, p.grpc.close())
}
