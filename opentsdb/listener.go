package opentsdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
)

// portName is the name of the port in metrics and messages.
const portName = "opentsdb"

// A listener receives telnet and HTTP on one port. The first byte of a connection decides which it
// is, as in OpenTSDB's PipelineFactory.
type listener struct {
	o       listenerOptions
	tcp     net.Listener
	errors  *netserver.ErrorLog
	metrics *listenerMetrics
	about   *about
	budget  *netserver.Gate // of what connections of telnet read
	turns   *query.Turns    // of connections of telnet that parse
}

// newListener binds the port. Run serves it; without Run, call Close. statistics are the answer to the
// command stats.
func newListener(o listenerOptions, statistics func() []httpapi.Statistic) (*listener, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Minute}}
	tcp, err := o.Sockets.Listen(context.Background(), config, o.Address)
	if err != nil {
		return nil, fmt.Errorf("--opentsdb.listen-address=%s: %w", o.Address, err)
	}
	l := &listener{o: o, budget: netserver.NewGate(o.MaxConnections, put.ReadBudget), turns: query.NewTurns(runtime.GOMAXPROCS(0)), metrics: newListenerMetrics(o.Registerer)}
	l.tcp = netserver.NewPort(tcp, netserver.PortOptions{
		What: portName, Flag: "--opentsdb.max-connections", Max: o.MaxConnections, Name: portName, Logger: o.Logger, Registerer: o.Registerer,
	})
	l.errors = netserver.NewErrorLog(portName, o.Logger, o.Registerer)
	l.about = &about{o: o, host: hostname(), statistics: statistics}
	return l, nil
}

// Addr returns the address that the listener is bound to.
func (l *listener) Addr() net.Addr { return l.tcp.Addr() }

// Close unbinds the port.
func (l *listener) Close() error { return l.tcp.Close() }

// Run serves until ctx ends: telnet by storing into puts, HTTP by api. Then it accepts and reads no
// more; requests under way, and the store with what telnet sent, have
// listenerOptions.ShutdownGrace. What telnet sent and the store did not take is lost, which is
// logged and counted.
func (l *listener) Run(ctx context.Context, puts *put.Store, api http.Handler) error {
	group, ctx := errgroup.WithContext(ctx)
	writeCtx, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	s := &server{
		listener: l, puts: puts, group: group,
		delivery: put.NewDelivery(l.o.Logger, l.metrics.delivery, ctx.Done()),
		handoff:  newHandoff(l.tcp.Addr()),
	}
	web := s.httpServer(api)
	group.Go(func() error { return s.accept(ctx, writeCtx) })
	group.Go(func() error {
		if err := web.Serve(s.handoff); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve opentsdb http: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		time.AfterFunc(l.o.ShutdownGrace, giveUp)
		err := l.tcp.Close()
		if web.Shutdown(writeCtx) != nil {
			_ = web.Close() // their time is over; net/http closes what is open
		}
		return err
	})
	err := group.Wait()
	if lost := s.delivery.LostPoints(); lost > 0 {
		l.o.Logger.ErrorContext(ctx, "telnet points lost, the store did not take them in time; --web.shutdown-grace gives it longer", "points", lost, "grace", l.o.ShutdownGrace)
	}
	return err
}

// server is a listener that runs.
type server struct {
	*listener
	puts     *put.Store
	group    *errgroup.Group
	delivery *put.Delivery
	handoff  *handoff
}

// headerTimeout is how long the head of a request may take.
const headerTimeout = 30 * time.Second

// maxHead is how many bytes the head of a request may have, about; a TSD takes 12 KiB.
const maxHead = 16 << 10

// requestTimeout is how long a client may take to send a request.
const requestTimeout = 5 * time.Minute

func (s *server) httpServer(handler http.Handler) *http.Server {
	idle := s.o.IdleTimeout
	if idle == 0 {
		idle = -1 // net/http: 0 is the timeout of reads
	}
	if s.o.Hosts != nil {
		handler = s.o.Hosts.Guard(handler, s.o.Logger)
	}
	return &http.Server{
		Handler: netserver.DeadlineOfBody(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, IdleTimeout: idle, MaxHeaderBytes: maxHead,
		ConnContext: netserver.WithConn,
		ErrorLog:    s.errors.Std(),
	}
}

// accept starts a goroutine of the group for each connection.
func (s *server) accept(ctx, writeCtx context.Context) error {
	return netserver.Accept(ctx, s.tcp, "opentsdb", s.o.Logger, func(conn net.Conn) {
		s.group.Go(func() error {
			s.serve(ctx, writeCtx, conn)
			return nil
		})
	})
}
