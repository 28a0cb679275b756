package carbon

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

// Options of a Listener. Logger, Registerer and Now must be given.
type Options struct {
	// Address is --carbon.listen-address, of TCP and UDP; empty: no lines. Port 0 chooses a free port.
	Address string
	// PickleAddress is --carbon.pickle-listen-address, ProtobufAddress --carbon.protobuf-listen-address, of
	// TCP; empty: none.
	PickleAddress, ProtobufAddress string
	// Sockets are bound already, and taken for the addresses that they have.
	Sockets *netserver.Sockets
	// FrameBytes is --carbon.max-frame-bytes: how long a frame of these may be.
	FrameBytes int
	// UDP is --carbon.udp: listen for datagrams too.
	UDP bool
	// MaxConnections is --carbon.max-connections: TCP connections at once. Others wait to be
	// accepted.
	MaxConnections int
	// IdleTimeout is --carbon.idle-timeout: a connection is closed after so long without a byte; 0:
	// never.
	IdleTimeout time.Duration
	// KeepOpen is --carbon.keep-open: lines over which carbon closes a connection are skipped.
	KeepOpen bool
	// ReadBuffer is how many bytes of a connection are read at once. Twice as many may wait for the
	// store.
	ReadBuffer int
	// UDPQueue is how many bytes of datagrams may wait for the store. More are dropped.
	UDPQueue int
	// ShutdownGrace is how long, after the process is told to stop, the store may take for points
	// that have been read.
	ShutdownGrace time.Duration

	// Intake, if there is one, takes points once when they have come, and returns those of them that go to the
	// Sink, in the same memory. It does not keep the points or their names, and never waits. It is safe for
	// concurrent use.
	Intake func(points []Point) []Point

	frameBudget int // bytes of the frames of all connections; 0: frameBudget

	Refused    *rejections.Log // samples of bad lines; may be nil
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// The flags of the addresses.
const (
	flagLines    = "--carbon.listen-address"
	flagPickle   = "--carbon.pickle-listen-address"
	flagProtobuf = "--carbon.protobuf-listen-address"
)

// leastFrame is how long a frame may be with any options, in bytes.
const leastFrame = 4 << 10

// DefaultOptions have carbon's port and, unlike carbon, UDP.
func DefaultOptions() Options {
	return Options{
		Address: ":2003", UDP: true, FrameBytes: 1 << 20, MaxConnections: 1000, ReadBuffer: 256 << 10, UDPQueue: 8 << 20, ShutdownGrace: 10 * time.Second,
	}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	for flag, address := range map[string]string{
		flagLines: o.Address, flagPickle: o.PickleAddress, flagProtobuf: o.ProtobufAddress,
	} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return fmt.Errorf("%s=%s: %w", flag, address, err)
		}
	}
	switch {
	case o.FrameBytes < leastFrame || o.FrameBytes > frameBudget:
		return fmt.Errorf("--carbon.max-frame-bytes=%d: must be from %d to %d", o.FrameBytes, leastFrame, frameBudget)
	case o.MaxConnections <= 0:
		return fmt.Errorf("--carbon.max-connections=%d: must be above 0", o.MaxConnections)
	case o.IdleTimeout < 0:
		return fmt.Errorf("--carbon.idle-timeout=%v: must not be negative", o.IdleTimeout)
	case o.ReadBuffer < leastBuffer:
		return fmt.Errorf("carbon: ReadBuffer=%d: must be at least %d, two lines", o.ReadBuffer, leastBuffer)
	case o.UDPQueue < maxDatagram:
		return fmt.Errorf("carbon: UDPQueue=%d: must be at least %d, a datagram", o.UDPQueue, maxDatagram)
	}
	return nil
}
