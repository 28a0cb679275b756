// Package systemd tells the service manager how the process is: that it starts, serves, lives and
// stops. Without one it does nothing.
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// lookEvery is how often a start is looked at.
	lookEvery = 100 * time.Millisecond
	// extendEvery is how often the service manager is told that a start goes on, and extension how
	// long it waits for the next message.
	extendEvery = 10 * time.Second
	extension   = time.Minute
)

// A Process is what the service manager is told about.
type Process struct {
	// Starting returns what the start waits for, "" when the process serves.
	Starting func() string
	// StopTime is how long an orderly stop may take.
	StopTime time.Duration
	Logger   *slog.Logger
}

// A Manager is the service manager that has started this process.
type Manager struct {
	notify   func(state string) (sent bool, err error)
	watchdog time.Duration // how long it waits for a sign of life; 0: for ever
	complain sync.Once
}

// New returns the service manager that the environment names.
func New() (*Manager, error) {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("WATCHDOG_USEC in the environment: %w", err)
	}
	return &Manager{notify: func(state string) (bool, error) { return daemon.SdNotify(false, state) }, watchdog: watchdog}, nil
}

// Watch tells the service manager about the process: what the start waits for, that it serves, that
// it lives, and, when ctx ends, that it stops. The function that it returns ends that.
func (m *Manager) Watch(ctx context.Context, p Process) (end func()) {
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		m.watch(ctx, p, done)
	}()
	return func() {
		close(done)
		<-watched
	}
}

func (m *Manager) watch(ctx context.Context, p Process, done <-chan struct{}) {
	if !m.tell(p.Logger, "STATUS=starts") {
		return
	}
	var alive <-chan time.Time
	if m.watchdog > 0 {
		ticker := time.NewTicker(m.watchdog / 3)
		defer ticker.Stop()
		alive = ticker.C
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	start := &start{}
	looks, stopping := look.C, ctx.Done()
	for {
		select {
		case <-done:
			if stopping != nil && ctx.Err() != nil {
				m.tell(p.Logger, daemon.SdNotifyStopping)
			}
			return
		case <-alive:
			m.tell(p.Logger, daemon.SdNotifyWatchdog)
		case <-looks:
			if state := start.next(p.Starting(), time.Now()); state != "" {
				m.tell(p.Logger, state)
			}
			if start.over {
				looks = nil
			}
		case <-stopping:
			looks, stopping = nil, nil
			m.tell(p.Logger, states(daemon.SdNotifyStopping, extend(p.StopTime), "STATUS=lets requests finish and puts points into the tables"))
		}
	}
}

// start is how far a start is.
type start struct {
	over bool
	told time.Time // when the service manager heard of it last
}

// next returns what the service manager is to be told about what the start waits for; "": nothing.
func (s *start) next(waits string, now time.Time) string {
	switch {
	case waits == "":
		s.over = true
		return states(daemon.SdNotifyReady, "STATUS=serves")
	case now.Sub(s.told) < extendEvery:
		return ""
	}
	s.told = now
	return states(extend(extension), "STATUS="+strings.ReplaceAll(waits, "\n", " "))
}

func extend(d time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()) }

// states joins states into one message.
func states(all ...string) string { return strings.Join(all, "\n") }

// tell sends a message and reports whether there is a service manager that wants some. The first
// error is logged.
func (m *Manager) tell(logger *slog.Logger, state string) bool {
	sent, err := m.notify(state)
	if err != nil {
		m.complain.Do(func() {
			logger.Warn("the service manager cannot be notified of the state of the process, and may end it; check NotifyAccess= of the unit", "err", err)
		})
	}
	return sent || err != nil
}
