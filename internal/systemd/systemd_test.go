package systemd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// told collects what a service manager is told, without signs of life.
type told struct {
	states []string
	alive  int
}

func (t *told) notify(state string) (bool, error) {
	if state == "WATCHDOG=1" {
		t.alive++
	} else {
		t.states = append(t.states, state)
	}
	return true, nil
}

// A long start asks for more time again and again, the process lives, and a stop is told.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &told{}
		m := &Manager{notify: said.notify, watchdog: 30 * time.Second}
		var served atomic.Bool
		p := Process{StopTime: 90 * time.Second, Logger: slog.New(slog.DiscardHandler), Starting: func() string {
			if served.Load() {
				return ""
			}
			return "the log is\nreplayed"
		}}
		ctx, stop := context.WithCancel(t.Context())
		end := m.Watch(ctx, p)
		time.Sleep(25 * time.Second)
		served.Store(true)
		time.Sleep(time.Minute)
		stop()
		time.Sleep(time.Minute) // a stop of a minute: it must live on
		end()
		const starts = "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=the log is replayed"
		want := []string{
			"STATUS=starts", starts, starts, starts, "READY=1\nSTATUS=serves",
			"STOPPING=1\nEXTEND_TIMEOUT_USEC=90000000\nSTATUS=lets requests finish and puts points into the tables",
		}
		if !slices.Equal(said.states, want) {
			t.Errorf("told %q\nwant %q", said.states, want)
		}
		if said.alive != 14 {
			t.Errorf("%d signs of life in 145 s, want one every 10 s", said.alive)
		}
	})
}

// A stop that takes no time is told as well.
func TestWatchQuickStop(t *testing.T) {
	said := &told{}
	m := &Manager{notify: said.notify}
	ctx, stop := context.WithCancel(t.Context())
	end := m.Watch(ctx, Process{Logger: slog.New(slog.DiscardHandler), Starting: func() string { return "nothing" }})
	stop()
	end()
	if last := said.states[len(said.states)-1]; !strings.HasPrefix(last, "STOPPING=1") {
		t.Errorf("told %q at last, want that it stops", last)
	}
}

// Without a service manager nothing runs; one that does not listen is complained of once.
func TestWatchNobody(t *testing.T) {
	var log strings.Builder
	p := Process{Logger: slog.New(slog.NewTextHandler(&log, nil)), Starting: func() string { return "" }}
	m := &Manager{notify: func(string) (bool, error) { return false, nil }}
	m.watch(t.Context(), p, nil) // it returns, although nothing is done
	m.notify = func(string) (bool, error) { return false, errors.New("gone") }
	for range 2 {
		if !m.tell(p.Logger, "READY=1") {
			t.Error("a service manager that does not answer is none")
		}
	}
	if strings.Count(log.String(), "gone") != 1 {
		t.Errorf("log %s, want one line", log.String())
	}
}

// The service manager is the one of the environment.
func TestNew(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "60000000")
	m, err := New()
	if err != nil || m.watchdog != time.Minute {
		t.Fatalf("watchdog %v, %v", m.watchdog, err)
	}
	m.tell(nil, "READY=1")
	message := make([]byte, 100)
	n, err := l.Read(message)
	if err != nil || string(message[:n]) != "READY=1" {
		t.Errorf("told %q, %v", message[:n], err)
	}
	t.Setenv("WATCHDOG_USEC", "soon")
	if _, err := New(); err == nil {
		t.Error("WATCHDOG_USEC=soon is taken")
	}
}
