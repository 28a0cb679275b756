package opentsdb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/opentsdb/api"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/storage"
)

// runningListener is a Listener that runs until stop.
type runningListener struct {
	*listener
	puts *put.Store
	api  *put.Handler
	stop func() error
}

func run(t testing.TB, a storage.Appender, change func(*listenerOptions)) runningListener {
	return runAPI(t, a, smallAPI(), change)
}

func runAPI(t testing.TB, a storage.Appender, apiOptions put.HandlerOptions, change func(*listenerOptions)) runningListener {
	o := defaultListenerOptions()
	o.Address, o.Logger, o.Registerer, o.Now = "127.0.0.1:0", slog.New(slog.DiscardHandler), prometheus.NewRegistry(), time.Now
	if change != nil {
		change(&o)
	}
	l, err := newListener(o, func() []httpapi.Statistic {
		return []httpapi.Statistic{{Name: "rpc.received", Value: 3, Tags: "type=telnet"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ingest := testPuts(a)
	done := make(chan error, 1)
	api := put.NewHandler(apiOptions, ingest, testQueries(), nil)
	go func() { done <- l.Run(ctx, ingest, api) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return runningListener{l, ingest, api, stop}
}

// smallAPI returns options with memory for few bodies.
func smallAPI() put.HandlerOptions {
	o := put.DefaultHandlerOptions()
	o.InFlightBytes = 8 << 20
	return o
}

func (r runningListener) dial(t testing.TB) net.Conn {
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// answered reads one line. The points sent before it are stored by then: a connection is answered
// after its points are stored.
func answered(t *testing.T, r *bufio.Reader) string {
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestBothProtocolsOnOnePort(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	telnet := l.dial(t)
	replies := bufio.NewReader(telnet)
	for i := range 3 {
		send(t, telnet, fmt.Sprintf("put tel.net %d 1 s=a\nbogus\n", i+1))
		if got := answered(t, replies); got != "unknown command: bogus.  Try `help'.\n" {
			t.Errorf("telnet answered %q", got)
		}
		// The connection is kept open.
		res := post(t, l, somePoint)
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("status %d", res.StatusCode)
		}
	}
	want := []string{"m{s=a} 1000 1i", "m{s=a} 1000 1i", "m{s=a} 1000 1i", "tel.net{s=a} 1000 1i", "tel.net{s=a} 2000 1i", "tel.net{s=a} 3000 1i"}
	got := m.Stored()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(l.metrics.http); got != 1 {
		t.Errorf("%v connections of HTTP", got)
	}
	if got := l.metrics.open.Load(); got != 2 {
		t.Errorf("%d connections open", got)
	}
	send(t, telnet, "put tel.net 4 1 s=a\nexit\nput tel.net 5 1 s=a\n")
	if rest, err := io.ReadAll(replies); len(rest) > 0 {
		t.Errorf("after exit: %q, %v", rest, err)
	}
	if got := m.Stored(); len(got) != 1 {
		t.Errorf("around exit: %q", got)
	}
}

// A line of an HTTP request ends telnet, and nothing after it is stored; TLS where there is none ends a
// connection at once.
func TestForeignConnections(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	for i, sent := range []string{
		"version\nPOST / HTTP/1.1\r\nHost: h\r\n\r\nput evil 1 1 s=a\n", "patch / HTTP/1.1\r\n\r\nput evil 1 1 s=a\n",
		"post /" + strings.Repeat("a", 2000) + " HTTP/1.1\r\n\r\nput evil 1 1 s=a\n", "\x16\x03\x01\x02\x00\nput evil 1 1 s=a\n",
	} {
		conn := l.dial(t)
		send(t, conn, sent)
		_, _ = io.Copy(io.Discard, conn) // a reset ends it too
		if n := testutil.ToFloat64(l.metrics.foreign); n != float64(i+1) {
			t.Errorf("%.20q: %v connections of other protocols", sent, n)
		}
	}
	if got := m.Stored(); len(got) > 0 {
		t.Errorf("stored: %q", got)
	}
}

func post(t *testing.T, l runningListener, content string) *http.Response {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String()+"/api/put", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return res
}

// Lines that were read before the process is told to stop are stored, also when the store comes
// back only then. A line without its end is not.
func TestStop(t *testing.T) {
	m := opentsdbtest.NewMemory()
	failed := make(chan struct{})
	once := sync.OnceFunc(func() { close(failed) })
	m.Set(nil, func() error {
		once()
		return opentsdbtest.ErrAway
	})
	l := run(t, m, nil)
	send(t, l.dial(t), "put m 1 1 s=a\nput m 2 2 s=a\nput m 3 3")
	<-failed
	m.Set(nil, nil)
	if err := l.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"m{s=a} 1000 1i", "m{s=a} 2000 2i"}, m.Stored()); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if got := testutil.ToFloat64(l.metrics.unfinished); got != 1 {
		t.Errorf("%v unfinished lines", got)
	}
	if got := l.metrics.open.Load(); got != 0 {
		t.Errorf("%d connections open", got)
	}
}

// If the store stays away, points are lost when the grace period is over, and they are counted.
func TestStopWithoutStore(t *testing.T) {
	for _, resolve := range []func(string) error{nil, func(string) error { return opentsdbtest.ErrAway }} {
		m := opentsdbtest.NewMemory()
		failed := make(chan struct{})
		once := sync.OnceFunc(func() { close(failed) })
		m.Set(func(name string) error {
			if resolve == nil {
				return nil
			}
			once()
			return resolve(name)
		}, func() error {
			once()
			return opentsdbtest.ErrAway
		})
		l := run(t, m, func(o *listenerOptions) { o.ShutdownGrace = 20 * time.Millisecond })
		send(t, l.dial(t), "put m 1 1 s=a\nput m 2 2 s=a\n")
		<-failed
		if err := l.stop(); err != nil {
			t.Error(err)
		}
		if got := statistic(l.puts, "rpc.errors", "type=hbase_errors"); got != 2 {
			t.Errorf("%v points failed", got)
		}
		if got := testutil.ToFloat64(l.metrics.delivery.Held) + testutil.ToFloat64(l.metrics.delivery.Outages); got != 0 {
			t.Errorf("%v points and writes still wait", got)
		}
	}
}

// Points wait while the store fails for a while, and their sender is not read from.
func TestStoreUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := opentsdbtest.NewMemory()
		in := testPuts(m)
		about, metrics := testAbout()
		s := &server{
			listener: &listener{o: about.o, metrics: metrics, about: about}, puts: in,
			delivery: put.NewDelivery(about.o.Logger, metrics.delivery, nil),
		}
		m.Set(func(string) error { return opentsdbtest.ErrAway }, func() error { return opentsdbtest.ErrAway })
		client, conn := net.Pipe()
		done := make(chan struct{})
		go func() {
			s.serve(t.Context(), t.Context(), conn)
			close(done)
		}()
		send(t, client, "put m 1 1 s=a\nput m 2 2 s=a\n")
		time.Sleep(time.Minute)
		if err := client.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, "put m 3 3 s=a\n"); err == nil {
			t.Error("a connection was read from whose points wait")
		}
		m.Set(nil, func() error { return opentsdbtest.ErrAway })
		time.Sleep(time.Minute)
		m.Set(nil, nil)
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"m{s=a} 1000 1i", "m{s=a} 2000 2i"}, m.Stored()); diff != "" {
			t.Errorf("points (-want +got):\n%s", diff)
		}
		_ = client.Close()
		<-done
		if written, received := statistic(in, "datapoints.added", "type=all"), statistic(in, "rpc.received", "type=put"); written != 2 || received != 2 {
			t.Errorf("%v of %v points written", written, received)
		}
	})
}

// A client that does not read its answers may continue to put.
func TestPutsWithoutReadingAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := opentsdbtest.NewMemory()
		about, metrics := testAbout()
		s := &server{
			listener: &listener{o: about.o, metrics: metrics, about: about}, puts: testPuts(m),
			delivery: put.NewDelivery(about.o.Logger, metrics.delivery, nil),
		}
		client, conn := net.Pipe()
		done := make(chan struct{})
		go func() {
			s.serve(t.Context(), t.Context(), conn)
			close(done)
		}()
		for i := range 3 {
			send(t, client, fmt.Sprintf("put bad:name 1 1 s=a\nput m %d 1 s=a\n", i+1))
		}
		_ = client.Close()
		<-done
		if got := len(m.Stored()); got != 3 {
			t.Errorf("%d points stored", got)
		}
		if got := testutil.ToFloat64(metrics.mute); got != 1 {
			t.Errorf("%v connections do not listen", got)
		}
	})
}

// Many connections of both kinds run at once, for the race detector; each point is stored once.
func TestManyConnections(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	const clients, points = 8, 50
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			conn := l.dial(t)
			for i := range points {
				send(t, conn, fmt.Sprintf("put tel.%d %d 1 s=a\n", c, i+1))
			}
			send(t, conn, "exit\n")
			if rest, err := io.ReadAll(conn); len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
		})
		group.Go(func() {
			for i := range points {
				if res := post(t, l, fmt.Sprintf(`{"metric":"web.%d","timestamp":%d,"value":1,"tags":{"s":"a"}}`, c, i+1)); res.StatusCode != http.StatusNoContent {
					t.Errorf("status %d", res.StatusCode)
				}
			}
		})
	}
	group.Wait()
	got := m.Stored()
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 2*clients*points || len(got) != n {
		t.Errorf("%d points, %d of them different", len(got), n)
	}
}

// The points of a busy telnet connection are stored completely and in order, although more is read
// while they are on their way.
func TestTelnetInOrder(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	conn := l.dial(t)
	const points = 20_000
	var text strings.Builder
	var want []string
	for i := range points {
		fmt.Fprintf(&text, "put m %d %d s=%d\n", i+1, i, i%5)
		want = append(want, fmt.Sprintf("m{s=%d} %d %di", i%5, 1000*(i+1), i))
	}
	send(t, conn, text.String()+"exit\n")
	if rest, err := io.ReadAll(conn); len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if got := m.Stored(); !slices.Equal(got, want) {
		t.Errorf("%d points, or in another order", len(got))
	}
}

// Points that the store refuses while more is read are answered, even if nothing more arrives.
func TestTelnetLateRefusal(t *testing.T) {
	m := opentsdbtest.NewMemory()
	l := run(t, m, nil)
	conn := l.dial(t)
	replies := bufio.NewReader(conn)
	send(t, conn, "put m 1 1 s=a\nbogus\n")
	answered(t, replies)
	m.Set(nil, func() error { return fmt.Errorf("not these: %w", storage.ErrInvalid) })
	const points = 2000
	send(t, conn, strings.Repeat("put m 2 2 s=a\n", points))
	for refused := 0; refused < points; {
		n, line := 0, answered(t, replies)
		if _, err := fmt.Sscanf(line, "put: illegal argument: append %d points", &n); err != nil {
			t.Fatalf("answered %q", line)
		}
		refused += n
	}
}

// statistic returns a statistic of puts.
func statistic(in *put.Store, name, tags string) int64 {
	for _, s := range in.Statistics() {
		if s.Name == name && s.Tags == tags {
			return s.Value
		}
	}
	return -1
}

func testAbout() (*about, *listenerMetrics) {
	o := defaultListenerOptions()
	o.Version, o.Revision, o.Build = "1.0", "abc", "go"
	o.Logger, o.Registerer = slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	o.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	m := newListenerMetrics(o.Registerer)
	return &about{o: o, host: "here", statistics: (&listener{metrics: m}).statistics}, m
}

// somePoint is a body of a put.
const somePoint = `{"metric":"m","timestamp":1,"value":1,"tags":{"s":"a"}}`

func testPuts(a storage.Appender) *put.Store {
	o := put.DefaultOptions()
	o.Appender, o.CacheEntries, o.Registerer = a, 100_000, prometheus.NewRegistry()
	return put.New(o)
}

// testQueries are the endpoints that are not put, without a store.
func testQueries() http.Handler {
	return api.New(api.Options{Concurrency: 1, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
}
