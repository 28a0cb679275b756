package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/storage"
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

// A Probe tells operators and orchestrators whether an adapter lives, and whether it is ready.
type Probe struct {
	// Ready returns what prevents the adapter from serving.
	Ready func(context.Context) error
	// Describe describes the state of the parts.
	Describe func(io.Writer)
	// Engine is the name of the engine for people.
	Engine string

	mu       sync.Mutex    // guards all below
	wasReady time.Time     // the last good outcome
	failed   error         // the outcome after it, if any
	look     chan struct{} // closed when the running look ends; nil: none runs
	began    time.Time     // that look
}

// Routes mounts the probe. VictoriaMetrics' vmctl asks /health before it sends.
func (p *Probe) Routes(r chi.Router) {
	for path, serve := range map[string]http.HandlerFunc{"/-/healthy": p.healthy, "/-/ready": p.isReady, "/health": p.isReady} {
		r.Get(path, serve)
		r.Head(path, serve)
	}
}

func (p *Probe) healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "tsdbridge is healthy.\n")
}

func (p *Probe) isReady(w http.ResponseWriter, r *http.Request) {
	if err := p.Check(r.Context()); err != nil {
		why := strings.TrimPrefix(err.Error(), storage.ErrNotReady.Error()+": ")
		http.Error(w, "tsdbridge is not ready: "+why, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "tsdbridge is ready.\n")
	if r.URL.Query().Has("verbose") {
		p.Describe(w)
	}
}

// Check returns what prevents the adapter from serving, within readyWait, even if the engine does not answer.
func (p *Probe) Check(ctx context.Context) error {
	p.mu.Lock()
	if time.Since(p.wasReady) < readyAge {
		p.mu.Unlock()
		return nil
	}
	if p.look == nil {
		p.look, p.began = make(chan struct{}), time.Now()
		go p.ask(context.WithoutCancel(ctx), p.look)
	}
	look := p.look
	p.mu.Unlock()
	wait := time.NewTimer(readyWait)
	defer wait.Stop()
	select {
	case <-look:
	case <-wait.C:
	case <-ctx.Done():
	}
	return p.outcome(look)
}

// ask checks the engine once.
func (p *Probe) ask(ctx context.Context, done chan<- struct{}) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := p.Ready(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s does not answer within %v", p.Engine, readyTimeout)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.look, p.failed = nil, err; err == nil {
		p.wasReady = time.Now()
	}
	close(done)
}

// outcome returns the result of a check, or the latest result while it runs.
func (p *Probe) outcome(look <-chan struct{}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-look:
		return p.failed
	default:
	}
	switch {
	case p.failed != nil:
		return p.failed
	case time.Since(p.wasReady) < readyGrace:
		return nil
	}
	return fmt.Errorf("%s has not answered for %v", p.Engine, time.Since(p.began).Round(100*time.Millisecond))
}
