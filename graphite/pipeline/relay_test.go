package pipeline

import (
	"bufio"
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
)

// TestRelay: which points are sent to another carbon, and under which names.
func TestRelay(t *testing.T) {
	for _, c := range []struct {
		points string
		rules  bool
		want   []string
	}{
		{relayReceived, true, []string{"a 1 1700000000", "servers.x_y 2 1700000000"}},
		{relayStored, true, []string{"hosts.x-y 2 1700000000", "sum_all 3 1699999980"}},
		{relayReceived, false, []string{"a 1 1700000000", "a.tmp 9 1700000000", "servers.x_y 2 1700000000"}},
		{relayStored, false, []string{"a 1 1700000000", "a.tmp 9 1700000000", "servers.x_y 2 1700000000"}},
	} {
		lines := make(chan string, 100)
		d := newIngestDoor(t, 1)
		o, parts := DefaultOptions(), Parts{ShutdownGrace: time.Minute, Logger: d.o.Logger, Registerer: prometheus.NewRegistry(), Now: time.Now}
		o.SeriesCache = 100
		o.Forward = ForwardOptions{Addresses: []string{listenLines(t, lines)}, Points: c.points, Protocol: "line", Path: t.TempDir(), MaxBytes: 1 << 30}
		files := nameFiles{}
		if c.rules {
			dir := t.TempDir()
			files.Blacklist = write(t, filepath.Join(dir, "black"), "tmp$")
			files.Rewrites = write(t, filepath.Join(dir, "rewrites"), "[pre]\n^servers = hosts\n[post]\n_ = -\n")
			files.Aggregation = write(t, filepath.Join(dir, "rules"), "sum_all (60) = sum <<x>>\na (60) = max a\n")
			o.Aggregation.Rules = files.Aggregation
		}
		if c.points == relayStored && c.rules { // a is an aggregate of itself, and comes with the others
			c.want = append([]string{"a 1 1699999980"}, c.want...)
		}
		names, err := newRules(files, parts.Logger)
		if err != nil {
			t.Fatal(err)
		}
		fork, err := newFork(o, parts, names, d.sink)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended, done := make(chan struct{}), make(chan error, 1)
		go func() { done <- fork.run(ctx, ended) }()
		points := fork.Take([]carbon.Point{
			{Name: []byte("a"), Time: 1_700_000_000, Value: 1}, {Name: []byte("servers.x_y"), Time: 1_700_000_000, Value: 2}, {Name: []byte("a.tmp"), Time: 1_700_000_000, Value: 9},
		})
		if want := map[bool]int{false: 3, true: 2}[c.rules]; len(points) != want { // of a.tmp the sink says that it is dropped
			t.Errorf("%d points are stored, want %d", len(points), want)
		}
		close(ended)
		var got []string
		for range c.want {
			select {
			case line := <-lines:
				got = append(got, line)
			case <-time.After(30 * time.Second):
				t.Fatalf("%s: %q", c.points, got)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" || len(lines) > 0 {
			t.Errorf("%s: %d more, %s", c.points, len(lines), diff)
		}
	}
}

// listenLines sends what lines arrive at the address that it returns to a channel.
func listenLines(t *testing.T, lines chan<- string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for s := bufio.NewScanner(conn); s.Scan(); {
					lines <- s.Text()
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestRelayOptions: what cannot work is refused.
func TestRelayOptions(t *testing.T) {
	o := defaultForwardOptions()
	for _, change := range []func(*ForwardOptions){
		func(o *ForwardOptions) { o.Points = "x" }, func(o *ForwardOptions) { o.Path = "" }, func(o *ForwardOptions) { o.Protocol = "x" }, func(o *ForwardOptions) { o.Addresses = []string{"a"} },
		func(o *ForwardOptions) { o.Addresses = []string{"a:1", "a:1"} },
	} {
		bad := o
		bad.Addresses, bad.Path = []string{"a:1"}, t.TempDir()
		change(&bad)
		if r, err := newRelay(bad, Parts{Logger: newIngestDoor(t, 1).o.Logger, Registerer: prometheus.NewRegistry(), Now: time.Now}); err == nil {
			t.Errorf("%+v is taken: %v", bad, r)
		}
	}
	if r, err := newRelay(o, Parts{}); r != nil || err != nil {
		t.Error(r, err)
	}
	c := DefaultOptions()
	c.Forward.Addresses = []string{"a:1"}
	if c.Validate() == nil {
		t.Error("forwarding without a listener is taken")
	}
}
