package netserver

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// accepting is a listener that returns what a test sends it.
type accepting struct {
	net.Listener
	next chan any // a net.Conn or an error
}

func (a accepting) Accept() (net.Conn, error) {
	switch next := (<-a.next).(type) {
	case net.Conn:
		return next, nil
	case error:
		return nil, next
	}
	return nil, net.ErrClosed
}

// Errors of the socket cost growing pauses until a connection is accepted again; a closed listener
// ends accepting.
func TestAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		l := accepting{next: make(chan any, 10)}
		ctx, cancel := context.WithCancel(t.Context())
		served := 0
		done := make(chan error, 1)
		go func() {
			done <- Accept(ctx, l, "test", slog.New(slog.NewTextHandler(&said, nil)), func(net.Conn) { served++ })
		}()
		many := errors.New("too many open files")
		begin := time.Now()
		for _, next := range []any{many, many, &guest{}, many, &guest{}} {
			l.next <- next
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if served != 2 {
			t.Errorf("%d connections served", served)
		}
		if n := strings.Count(said.String(), "pause=5ms"); n != 2 || !strings.Contains(said.String(), "pause=10ms") {
			t.Errorf("after %v:\n%s", time.Since(begin), said.String())
		}
		cancel()
		l.next <- net.ErrClosed
		if err := <-done; err != nil {
			t.Error(err)
		}
		l.next <- net.ErrClosed
		if err := Accept(t.Context(), l, "test", slog.New(slog.DiscardHandler), nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}

func TestPauses(t *testing.T) {
	var p Pauses
	last := time.Duration(0)
	for range 20 {
		pause := p.Next()
		if pause < last || pause > lastPause {
			t.Errorf("%v after %v", pause, last)
		}
		last = pause
	}
	if last != lastPause {
		t.Errorf("the longest pause is %v", last)
	}
	if p.Reset(); p.Next() != firstPause {
		t.Error("Reset does not begin again")
	}
}
