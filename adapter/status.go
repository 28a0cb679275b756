package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// readyTimeout bounds one check of the engine. readyAge is how long a good result counts, so that
// many probes cause one check. readyWait is how long a probe waits for a check that is running.
// readyGrace is how long a good result counts while a check takes longer than that.
const (
	readyTimeout = 5 * time.Second
	readyAge     = time.Second
	readyWait    = 800 * time.Millisecond
	readyGrace   = 5 * time.Second
)

// statusHandler serves health and readiness for operators and orchestrators.
type statusHandler struct {
	ready   func(context.Context) error
	verbose func(io.Writer) // describes the state of the parts
	engine  string          // its name for people

	mu       sync.Mutex    // guards all below
	wasReady time.Time     // the last good outcome
	failed   error         // the outcome after it, if any
	look     chan struct{} // closed when the running look ends; nil: none runs
	began    time.Time     // that look
}

func (h *statusHandler) healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "tsdbridge is healthy.\n")
}

func (h *statusHandler) isReady(w http.ResponseWriter, r *http.Request) {
	if err := h.check(r.Context()); err != nil {
		why := strings.TrimPrefix(err.Error(), storage.ErrNotReady.Error()+": ")
		http.Error(w, "tsdbridge is not ready: "+why, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "tsdbridge is ready.\n")
	if r.URL.Query().Has("verbose") {
		h.verbose(w)
	}
}

// check returns within readyWait, even if the engine does not answer.
func (h *statusHandler) check(ctx context.Context) error {
	h.mu.Lock()
	if time.Since(h.wasReady) < readyAge {
		h.mu.Unlock()
		return nil
	}
	if h.look == nil {
		h.look, h.began = make(chan struct{}), time.Now()
		go h.ask(context.WithoutCancel(ctx), h.look)
	}
	look := h.look
	h.mu.Unlock()
	wait := time.NewTimer(readyWait)
	defer wait.Stop()
	select {
	case <-look:
	case <-wait.C:
	case <-ctx.Done():
	}
	return h.outcome(look)
}

// ask checks the engine once.
func (h *statusHandler) ask(ctx context.Context, done chan<- struct{}) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := h.ready(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s does not answer within %v", h.engine, readyTimeout)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.look, h.failed = nil, err; err == nil {
		h.wasReady = time.Now()
	}
	close(done)
}

// outcome returns the result of a check, or the latest result while it runs.
func (h *statusHandler) outcome(look <-chan struct{}) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-look:
		return h.failed
	default:
	}
	switch {
	case h.failed != nil:
		return h.failed
	case time.Since(h.wasReady) < readyGrace:
		return nil
	}
	return fmt.Errorf("%s has not answered for %v", h.engine, time.Since(h.began).Round(100*time.Millisecond))
}

// describe writes the state of the parts: whether points are taken, and if not why; which files are
// damaged; the trees.
func (a *Adapter) describe(w io.Writer) {
	if err := a.store.Refuses(); err != nil {
		fmt.Fprintf(w, "writes refused: %v\n", err)
	} else {
		fmt.Fprintln(w, "writes: taken")
	}
	if engine, ok := a.db.(kv.Local); ok {
		for _, file := range engine.Damaged() {
			fmt.Fprintf(w, "damaged: %s\n", file)
		}
	}
	if closed, ok := a.store.ClosedRows(); ok {
		fmt.Fprintln(w, closed)
	}
	a.trees.Describe(w)
}
