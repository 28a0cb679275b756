package carbon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// maxPoints is how many points go to the Sink at once.
const maxPoints = 8192

// A Listener receives lines on one port, over TCP and UDP, and frames on others.
type Listener struct {
	o       Options
	tcp     net.Listener // nil: no lines
	udp     *net.UDPConn // nil: none
	framed  []*framedPort
	frames  *netserver.Gate // of what they read
	metrics *listenerMetrics
	budget  *netserver.Gate // of what connections read
	turns   *query.Turns    // of connections that parse
	points  sync.Pool       // of *[]Point, empty
}

// New binds the port. Run serves it; without Run, call Close.
func New(o Options) (*Listener, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l := &Listener{o: o, frames: netserver.NewGate(o.MaxConnections, cmp.Or(o.frameBudget, frameBudget)), budget: netserver.NewGate(o.MaxConnections, readBudget), turns: query.NewTurns(runtime.GOMAXPROCS(0))}
	l.points.New = func() any { return new([]Point) }
	if o.Address != "" {
		if err := l.bind(); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", flagLines, o.Address, err)
		}
		l.tcp = l.port(l.tcp, Lines, "carbon")
	}
	l.metrics = newListenerMetrics(o.Registerer)
	for _, port := range []*framedPort{
		{flag: flagPickle, address: o.PickleAddress, protocol: protocolPickle, metrics: l.metrics.pickle, parse: newPickleParser().parse},
		{flag: flagProtobuf, address: o.ProtobufAddress, protocol: protocolProtobuf, metrics: l.metrics.protobuf, parse: parseProtobuf},
	} {
		if port.address == "" {
			continue
		}
		tcp, err := o.Sockets.Listen(context.Background(), listenConfig(), port.address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s=%s: %w", port.flag, port.address, err), l.Close())
		}
		port.tcp = l.port(tcp, port.what(), "carbon_"+port.protocol)
		l.framed = append(l.framed, port)
	}
	return l, nil
}

// port returns a port that closes silent connections when it is full.
func (l *Listener) port(tcp net.Listener, what, name string) net.Listener {
	return netserver.NewPort(tcp, netserver.PortOptions{
		What: what, Flag: "--carbon.max-connections", Max: l.o.MaxConnections, Name: name, Logger: l.o.Logger, Registerer: l.o.Registerer,
	})
}

func listenConfig() net.ListenConfig {
	return net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Minute}}
}

// bind binds TCP and the same port of UDP. If the port that was picked for TCP is in use for UDP,
// it picks another.
func (l *Listener) bind() error {
	host, port, err := net.SplitHostPort(l.o.Address)
	if err != nil {
		return err
	}
	for range 16 {
		err = l.bindBoth(host)
		if port != "0" || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return err
}

func (l *Listener) bindBoth(host string) error {
	config := listenConfig()
	tcp, err := l.o.Sockets.Listen(context.Background(), config, l.o.Address)
	if err != nil {
		return err
	}
	l.tcp = tcp
	if !l.o.UDP {
		return nil
	}
	port := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)
	udp, err := l.o.Sockets.ListenPacket(context.Background(), config, net.JoinHostPort(host, port))
	if err != nil {
		return errors.Join(err, tcp.Close())
	}
	l.udp = udp.(*net.UDPConn)
	// The kernel may give less; what does not fit is dropped before we could count it.
	_ = l.udp.SetReadBuffer(socketBuffer)
	return nil
}

// Addr returns the address of the lines, nil without one.
func (l *Listener) Addr() net.Addr {
	if l.tcp == nil {
		return nil
	}
	return l.tcp.Addr()
}

// Lines is the protocol of the port of lines.
const Lines = "carbon"

// An Address is one that a Listener is bound to.
type Address struct {
	Protocol string // Lines, or that with the name of another
	net.Addr
}

// Addresses returns all that the listener is bound to.
func (l *Listener) Addresses() []Address {
	var all []Address
	if l.tcp != nil {
		all = append(all, Address{Lines, l.tcp.Addr()})
	}
	for _, port := range l.framed {
		all = append(all, Address{port.what(), port.tcp.Addr()})
	}
	return all
}

// Close unbinds the ports.
func (l *Listener) Close() error {
	err := l.closeTCP()
	if l.udp != nil {
		err = errors.Join(err, l.udp.Close())
	}
	return err
}

func (l *Listener) closeTCP() error {
	var err error
	if l.tcp != nil {
		err = l.tcp.Close()
	}
	for _, port := range l.framed {
		err = errors.Join(err, port.tcp.Close())
	}
	return err
}

// Run serves until ctx ends. Then it stops to accept and to read. Points that have been read have
// Options.ShutdownGrace to reach the sink; the others are lost, logged and counted.
func (l *Listener) Run(ctx context.Context, sink Sink) error {
	group, ctx := errgroup.WithContext(ctx)
	writeCtx, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	d := newDelivery(sink, l.o.Logger, l.metrics, ctx.Done())
	d.intake = l.o.Intake
	if l.tcp != nil {
		l.accept(ctx, group, l.tcp, Lines, func(conn net.Conn) { l.serveConnection(ctx, writeCtx, conn, d) })
	}
	for _, port := range l.framed {
		l.accept(ctx, group, port.tcp, port.what(), func(conn net.Conn) { l.serveFrames(ctx, writeCtx, port, conn, d) })
	}
	if l.udp != nil {
		q := newDatagramQueue(l.o.UDPQueue)
		group.Go(func() error { return l.receive(ctx, q) })
		group.Go(func() error {
			l.serveDatagrams(writeCtx, q, d)
			return nil
		})
	}
	group.Go(func() error {
		<-ctx.Done()
		time.AfterFunc(l.o.ShutdownGrace, giveUp)
		return l.closeTCP() // the UDP socket is closed by its reader
	})
	err := group.Wait()
	if lost := d.lost.Load(); lost > 0 {
		l.o.Logger.ErrorContext(ctx, "carbon points lost, the store did not take them in time; --web.shutdown-grace gives it longer", "points", lost, "grace", l.o.ShutdownGrace)
	}
	return err
}

// accept serves the connections of a port, each in a goroutine of the group.
func (l *Listener) accept(ctx context.Context, group *errgroup.Group, port net.Listener, what string, serve func(net.Conn)) {
	group.Go(func() error {
		return netserver.Accept(ctx, port, what, l.o.Logger, func(conn net.Conn) {
			group.Go(func() error {
				serve(conn)
				return nil
			})
		})
	})
}

// batch collects the points of one read for the sink.
type batch struct {
	listener *Listener
	delivery *delivery
	metrics  protocolMetrics
	points   *[]Point
	lines    int                 // not in the metrics yet
	now      int64               // seconds
	useful   bool                // it had points
	pipeline *netserver.Pipeline // that delivers what came before; nil: nothing did
	turn     *query.Turn         // to parse, which others have while points are delivered; nil: none
}

func (l *Listener) newBatch(d *delivery, m protocolMetrics) *batch {
	return &batch{listener: l, delivery: d, metrics: m, points: l.points.Get().(*[]Point), now: l.o.Now().Unix()}
}

// add parses a line. When the batch is full it is delivered.
func (b *batch) add(ctx context.Context, line []byte) Reason {
	p, reason := ParseLine(line, b.now)
	if reason != 0 {
		return reason
	}
	b.addPoint(ctx, p)
	return 0
}

// addPlain adds the lines that text begins with, up to the first unusual one, and returns their
// length.
func (b *batch) addPlain(ctx context.Context, text []byte) (n int) {
	for {
		p, length := plainLine(text[n:])
		if length == 0 {
			return n
		}
		b.addPoint(ctx, p)
		n += length
	}
}

func (b *batch) addPoint(ctx context.Context, p Point) {
	b.lines++
	*b.points = append(*b.points, p)
	if len(*b.points) == maxPoints {
		b.turn.Pause()
		b.deliver(ctx)
		_ = b.turn.Resume(ctx) // When the process stops, what was read is parsed without a turn.
	}
}

// refuse counts a line that is not a point, and logs it perhaps.
func (b *batch) refuse(ctx context.Context, reason Reason, line []byte, from func() string) {
	b.lines++
	b.listener.metrics.rejected[reason].Inc()
	b.listener.complain(ctx, reason, line, from())
}

func (b *batch) deliver(ctx context.Context) {
	b.metrics.lines.Add(float64(b.lines))
	b.lines = 0
	b.pipeline.Wait()
	b.useful = b.useful || len(*b.points) > 0
	b.delivery.write(ctx, *b.points)
	clear(*b.points) // names are parts of larger memory
	*b.points = (*b.points)[:0]
}

// end delivers the rest and gives the memory back.
func (b *batch) end(ctx context.Context) {
	b.deliver(ctx)
	b.listener.points.Put(b.points)
}
