// Package netserver is what the listeners of protocols share: ports that silent connections cannot
// block, lines cut from what a connection sends, requests bounded in number and bytes, and writes
// that are tried until the store takes them. It knows no protocol, no point and no store.
package netserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// The pauses after an error of a socket: the first one, doubled up to the longest.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Pauses are those after errors of a socket that follow each other. The zero value begins.
type Pauses struct{ next time.Duration }

// Next is the pause after one more error.
func (p *Pauses) Next() time.Duration {
	pause := max(p.next, firstPause)
	p.next = min(2*pause, lastPause)
	return pause
}

// Reset begins again, after a success.
func (p *Pauses) Reset() { p.next = 0 }

// Accept calls serve with each connection of a listener, until ctx ends and the listener is closed.
// serve must not block. what names the protocol in logs.
func Accept(ctx context.Context, l net.Listener, what string, logger *slog.Logger, serve func(net.Conn)) error {
	var pauses Pauses
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pauses.Reset()
			serve(conn)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept %s connection: %w", what, err)
		default: // out of file descriptors, most likely
			pause := pauses.Next()
			logger.WarnContext(ctx, what+" connection not accepted, which is tried again; look at the limit of open files", "err", err, "pause", pause)
			retry.Sleep(ctx, pause)
		}
	}
}
