package carbon

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options of a Listener. Logger, Registerer and Now must be given.
type Options struct {
	Address string // --carbon.listen-address: of TCP and UDP; port 0 picks one
	UDP     bool   // --carbon.udp: listen for datagrams too
	// --carbon.max-connections: TCP connections at once; others wait to be accepted
	MaxConnections int
	// --carbon.idle-timeout: close a connection after so long without a byte; 0: never
	IdleTimeout time.Duration
	// --carbon.keep-open: skip the lines over which carbon closes a connection
	KeepOpen bool
	// bytes of one connection that are read at once; twice that may wait for the store
	ReadBuffer int
	UDPQueue   int // bytes of datagrams that may wait for the store; more are dropped
	// time that the store has, after the process is told to stop, for points that were read before
	ShutdownGrace time.Duration

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// DefaultOptions have carbon's port and, unlike carbon, UDP.
func DefaultOptions() Options {
	return Options{
		Address: ":2003", UDP: true, MaxConnections: 1000, ReadBuffer: 256 << 10, UDPQueue: 8 << 20, ShutdownGrace: 10 * time.Second,
	}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		return fmt.Errorf("--carbon.listen-address=%s: %w", o.Address, err)
	}
	switch {
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
