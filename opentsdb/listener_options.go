package opentsdb

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/ingest/listen"
)

// listenerOptions are what a listener needs. Logger, Registerer and Now must be given.
type listenerOptions struct {
	Address        string // --opentsdb.listen-address: telnet and HTTP; port 0 picks one
	MaxConnections int    // --opentsdb.max-connections: at once; others wait to be accepted
	// --opentsdb.idle-timeout: close a connection after so long without a byte; 0: never
	IdleTimeout time.Duration
	MaxLine     int // bytes of a line of telnet; a TSD takes 1024
	ReadBuffer  int // bytes of one connection of telnet read ahead of the store
	// time that requests under way and the store have when the process is told to stop
	ShutdownGrace time.Duration

	// What the command version shows.
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
	case o.ReadBuffer < listen.FirstBuffer || o.ReadBuffer < 2*(o.MaxLine+2):
		return fmt.Errorf("opentsdb: ReadBuffer=%d: must be at least %d, two lines", o.ReadBuffer, max(listen.FirstBuffer, 2*(o.MaxLine+2)))
	}
	return nil
}
