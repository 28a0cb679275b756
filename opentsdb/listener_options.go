package opentsdb

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// listenerOptions are what a listener needs. Logger, Registerer and Now must be given.
type listenerOptions struct {
	// Address is --opentsdb.listen-address, of telnet and HTTP. Port 0 chooses a free port.
	Address string
	// Sockets are bound already, and taken for the addresses that they have.
	Sockets *netserver.Sockets
	// MaxConnections is --opentsdb.max-connections: connections at once. Others wait to be
	// accepted.
	MaxConnections int
	// IdleTimeout is --opentsdb.idle-timeout: a connection is closed after so long without a byte;
	// 0: never.
	IdleTimeout time.Duration
	// MaxLine is how many bytes a line of telnet may have. A TSD accepts 1024.
	MaxLine int
	// ReadBuffer is how many bytes of a telnet connection are read ahead of the store.
	ReadBuffer int
	// ShutdownGrace is how long requests under way and the store may take when the process is told
	// to stop.
	ShutdownGrace time.Duration

	// TLS is how connections are encrypted that begin with its handshake. With it HTTP without it is
	// refused; nil: no connection is encrypted.
	TLS *tls.Config
	// Hosts are the names by which browsers may reach the port; nil: any.
	Hosts *netserver.Hosts
	// Version, Revision and Build are the answer to the command version.
	Version, Revision, Build string

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// defaultListenerOptions have the usual port of a TSD, and its limit of lines.
func defaultListenerOptions() listenerOptions {
	return listenerOptions{Address: ":4242", MaxConnections: 1000, MaxLine: 1024, ReadBuffer: 256 << 10, ShutdownGrace: 10 * time.Second}
}

// Validate names the flag that cannot work.
func (o listenerOptions) Validate() error {
	if _, _, err := net.SplitHostPort(o.Address); err != nil {
		return fmt.Errorf("--opentsdb.listen-address=%s: %w", o.Address, err)
	}
	switch {
	case o.MaxConnections <= 0:
		return fmt.Errorf("--opentsdb.max-connections=%d: must be above 0", o.MaxConnections)
	case o.IdleTimeout < 0:
		return fmt.Errorf("--opentsdb.idle-timeout=%v: must not be negative", o.IdleTimeout)
	case o.MaxLine < 64:
		return fmt.Errorf("opentsdb: MaxLine=%d: must be at least 64", o.MaxLine)
	case o.ReadBuffer < netserver.FirstBuffer || o.ReadBuffer < 2*(o.MaxLine+2):
		return fmt.Errorf("opentsdb: ReadBuffer=%d: must be at least %d, two lines", o.ReadBuffer, max(netserver.FirstBuffer, 2*(o.MaxLine+2)))
	}
	return nil
}
