package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends with the first SIGINT or SIGTERM. From then on both have
// the effect that the system gives them: a second one ends the process at once. That holds before
// the context ends, so whoever reads "shutting down" in the log can rely on it. stop gives up
// waiting.
func untilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer cancel()
		defer signal.Stop(received)
		select {
		case <-received:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
