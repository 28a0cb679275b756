package carbon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// recorder is a Sink that keeps the points that it gets. It can be made to fail or to be slow.
type recorder struct {
	mu      sync.Mutex
	changed *sync.Cond
	points  []string
	failing bool
	failed  int
	largest int           // points of a write
	held    chan struct{} // Write waits until it can receive; nil: it does not
	inside  int           // writes that wait
}

func newRecorder() *recorder {
	r := &recorder{}
	r.changed = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) Write(ctx context.Context, points []Point) error {
	r.mu.Lock()
	held := r.held
	r.inside++
	r.largest = max(r.largest, len(points))
	r.changed.Broadcast()
	r.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changed.Broadcast()
	r.inside--
	if r.failing || ctx.Err() != nil {
		r.failed++
		return errDown
	}
	for _, p := range points {
		r.points = append(r.points, fmt.Sprintf("%s %v @%d", p.Name, p.Value, p.Time))
	}
	return nil
}

func (r *recorder) set(failing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = failing
}

// hold makes all writes wait until the channel is closed.
func (r *recorder) hold() (release chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = make(chan struct{})
	return r.held
}

// wait waits until done returns true, however long that takes: go test ends a test that never ends.
func (r *recorder) wait(done func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !done() {
		r.changed.Wait()
	}
}

// waitPoints waits for n points and returns all, sorted.
func (r *recorder) waitPoints(n int) []string {
	r.wait(func() bool { return len(r.points) >= n })
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.points))
}

// server is a running listener.
type server struct {
	t      *testing.T
	sink   *recorder
	log    logBuffer
	l      *Listener
	cancel context.CancelFunc
	stop   func() error // cancels Run and returns its error
}

func startServer(t *testing.T, change func(*Options)) *server {
	s := &server{t: t, sink: newRecorder()}
	o := DefaultOptions()
	o.Address, o.Logger, o.Registerer = "127.0.0.1:0", slog.New(slog.NewTextHandler(&s.log, nil)), prometheus.NewRegistry()
	o.Now = func() time.Time { return time.Unix(testNow, 0) }
	if change != nil {
		change(&o)
	}
	var err error
	if s.l, err = New(o); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.l.Run(ctx, s.sink) }()
	s.stop = sync.OnceValue(func() error {
		s.cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		s.checkCounters()
	})
	return s
}

// checkCounters checks that all lines are counted, after the server has stopped.
func (s *server) checkCounters() {
	m := s.l.metrics
	lines := testutil.ToFloat64(m.tcp.lines) + testutil.ToFloat64(m.udp.lines) + testutil.ToFloat64(m.pickle.lines) + testutil.ToFloat64(m.protobuf.lines)
	points, lost, rejected := testutil.ToFloat64(m.points), testutil.ToFloat64(m.lost), 0.0
	for _, c := range m.rejected[1:] {
		rejected += testutil.ToFloat64(c)
	}
	if lines != points+lost+rejected || testutil.ToFloat64(m.held) != 0 {
		s.t.Errorf("%v lines; %v points, %v lost, %v rejected, %v held", lines, points, lost, rejected,
			testutil.ToFloat64(m.held))
	}
	if int(points) != len(s.sink.points) {
		s.t.Errorf("%v points counted, %d in the sink", points, len(s.sink.points))
	}
}

func (s *server) dial(network string) net.Conn {
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), network, s.l.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *server) send(conn net.Conn, text string) {
	if _, err := conn.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// waitClosed waits until the server has closed the connection.
func waitClosed(conn net.Conn) {
	_, _ = io.Copy(io.Discard, conn) // a reset ends it too
}

func (s *server) wantPoints(want ...string) {
	s.t.Helper()
	if got := s.sink.waitPoints(len(want)); strings.Join(got, "; ") != strings.Join(want, "; ") {
		s.t.Errorf("points %q, want %q", got, want)
	}
}

// Each case is the text of a connection, the points that are stored, and whether the connection is
// closed, as carbon does it.
func TestConnection(t *testing.T) {
	long := strings.Repeat("y", MaxLine+1)
	for _, test := range []struct {
		name, sent string
		keepOpen   bool
		want       string // points, sorted
		closed     bool
	}{
		{name: "points", sent: "a 1 10\nb 2 20\r\n", want: "a 1 @10; b 2 @20"},
		{name: "now", sent: "a 1 -1\n", want: "a 1 @1741099999"},
		{name: "bad lines", sent: "a 1\n\na x 10\na 1 N\na nan 10\na 1 -5\na 1 99999999999\nb 2 20\n", want: "b 2 @20"},
		{name: "cr only", sent: "a 1 10\rb 2 20\nc 3 30\n", want: "c 3 @30"},
		{name: "time inf", sent: "a 1 10\nb 2 inf\nc 3 30\n", want: "a 1 @10", closed: true},
		{name: "time nan", sent: "a 1 10\nb 2 nan\nc 3 30\n", want: "a 1 @10", closed: true},
		{name: "utf-8", sent: "a 1 10\nb\xff 2 20\nc 3 30\n", want: "a 1 @10", closed: true},
		{name: "too long", sent: "a 1 10\n" + long + "\nc 3 30\n", want: "a 1 @10", closed: true},
		{name: "too long already", sent: "a 1 10\n" + long, want: "a 1 @10", closed: true},
		{name: "too long and kept", sent: "a 1 10\n" + long + long + "\nc 3 30\n", keepOpen: true, want: "a 1 @10; c 3 @30"},
		{name: "request", sent: "a 1 10\nPOST / HTTP/1.1\r\nHost: h:2003\r\nOrigin: http://evil\r\n\r\nevil 1 10\n", want: "a 1 @10", closed: true},
		{name: "request and kept", sent: "a 1 10\nPOST / HTTP/1.1\r\n\r\nevil 1 10\n", keepOpen: true, want: "a 1 @10", closed: true},
		{name: "long request and kept", sent: "a 1 10\nPOST /" + long + " HTTP/1.1\nevil 1 10\n", keepOpen: true, want: "a 1 @10", closed: true},
		{name: "longer request and kept", sent: "a 1 10\nPOST 5 " + long + " HTTP/1.1\nHost: h\nevil 1 10\n", keepOpen: true, want: "a 1 @10", closed: true},
		{name: "name like a request", sent: "GET 1 10\nHost: 2 20\n", want: "GET 1 @10; Host: 2 @20"},
		{name: "kept", sent: "a 1 nan\na 1 inf\n\xff 1 1\nc 3 30\n", keepOpen: true, want: "c 3 @30"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, func(o *Options) { o.KeepOpen = test.keepOpen })
			conn := s.dial("tcp")
			s.send(conn, test.sent)
			want := strings.Split(test.want, "; ")
			if test.closed {
				waitClosed(conn)
			} else {
				s.send(conn, "z 9 99\n")
				want = append(want, "z 9 @99")
			}
			s.wantPoints(want...)
		})
	}
}

// A connection that begins as HTTP or with TLS is ended at once, and nothing of it is stored.
func TestForeignConnections(t *testing.T) {
	for sent, reason := range map[string]Reason{
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nevil 1 10\n": ReasonHTTP, "get /?a=b HTTP/1.0\r\nevil 1 10\n": ReasonHTTP,
		"\x16\x03\x01\x02\x00\x01\nevil 1 10\n": ReasonTLS,
	} {
		s := startServer(t, func(o *Options) { o.KeepOpen = true })
		conn := s.dial("tcp")
		s.send(conn, sent)
		waitClosed(conn)
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		if n := testutil.ToFloat64(s.l.metrics.rejected[reason]); n != 1 || len(s.sink.points) != 0 {
			t.Errorf("%q: %v lines refused, points %q", sent, n, s.sink.points)
		}
	}
}

// The last line needs its newline, whenever the connection ends.
func TestConnectionEndsWithinLine(t *testing.T) {
	s := startServer(t, nil)
	conn := s.dial("tcp")
	s.send(conn, "a 1 10\nb 2 2000")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	waitClosed(conn)
	s.wantPoints("a 1 @10")
	if n := testutil.ToFloat64(s.l.metrics.rejected[ReasonUnfinished]); n != 1 {
		t.Errorf("%v unfinished lines, want 1", n)
	}
}

func TestConnectionIdle(t *testing.T) {
	s := startServer(t, func(o *Options) { o.IdleTimeout = 10 * time.Millisecond })
	conn := s.dial("tcp")
	waitClosed(conn)
}

func TestDatagrams(t *testing.T) {
	for _, test := range []struct {
		name, sent, want string
		refused          float64 // lines
	}{
		{"several", "a 1 10\nb 2 20\nc 3 30", "a 1 @10; b 2 @20; c 3 @30", 0},
		{"bad lines", "a 1\n\nb 2 20\nc x 30\nd 4 nan\ne 5 50", "b 2 @20; e 5 @50", 4},
		{"other ends of lines", "a 1 1\rb 2 2\r\nc 3 3\ve 4 4\u2028f 5 5\u0085g 6 6\x1ch 7 7", "a 1 @1; b 2 @2; c 3 @3; e 4 @4; f 5 @5; g 6 @6; h 7 @7", 0},
		{"utf-8", "a 1 10\nb\xff 2 20\n", "", 2},
		{"time inf", "a 1 10\nb 2 inf\nc 3 30", "a 1 @10", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, nil)
			conn := s.dial("udp")
			s.send(conn, test.sent)
			s.send(conn, "z 9 99")
			want := append(strings.Split(test.want, "; "), "z 9 @99")
			s.wantPoints(slices.DeleteFunc(want, func(s string) bool { return s == "" })...)
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if n := testutil.ToFloat64(s.l.metrics.udp.lines) - testutil.ToFloat64(s.l.metrics.points); n != test.refused {
				t.Errorf("%v lines refused, want %v", n, test.refused)
			}
		})
	}
}

func TestDatagramsKeptOpen(t *testing.T) {
	s := startServer(t, func(o *Options) { o.KeepOpen = true })
	s.send(s.dial("udp"), "a 1 10\nb\xff 2 20\nc 3 inf\nd 4 40")
	s.wantPoints("a 1 @10", "d 4 @40")
}

// Datagrams that arrive faster than the store accepts points wait up to a limit; beyond it they are
// dropped and counted.
func TestDatagramQueue(t *testing.T) {
	q := newDatagramQueue(3 * (datagramCost + 100))
	from := netip.MustParseAddrPort("192.0.2.1:5")
	for i, want := range []bool{true, true, true, false} {
		if got := q.put(make([]byte, 100), from); got != want {
			t.Errorf("datagram %d: %v", i, got)
		}
	}
	if got := q.take(datagrams{}); len(got.each) != 3 || len(got.bytes) != 300 {
		t.Errorf("%d datagrams of %d bytes, want 3 of 300", len(got.each), len(got.bytes))
	}
	if !q.put(make([]byte, maxDatagram), from) {
		t.Error("a datagram larger than the queue does not fit into an empty one")
	}
}

func TestDatagramsDropped(t *testing.T) {
	s := startServer(t, func(o *Options) { o.UDPQueue = maxDatagram })
	release := s.sink.hold()
	conn := s.dial("udp")
	s.send(conn, "first 1 1")
	s.sink.wait(func() bool { return s.sink.inside == 1 })
	for testutil.ToFloat64(s.l.metrics.droppedDatagrams) == 0 {
		s.send(conn, strings.Repeat("a 1 10\n", 1000))
	}
	close(release)
	s.sink.waitPoints(1001)
}

// A slow store slows the sender: what is not read stays with the sender.
func TestSlowSink(t *testing.T) {
	s := startServer(t, nil)
	release := s.sink.hold()
	conn := s.dial("tcp")
	const lines = 16_000
	sent := make(chan error, 1)
	go func() {
		chunk := []byte(strings.Repeat(strings.Repeat("x", 980)+" 1 1741060000\n", 100))
		for range lines / 100 {
			if _, err := conn.Write(chunk); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	s.sink.wait(func() bool { return s.sink.inside == 1 })
	select {
	case <-sent:
		t.Fatal("16 MB were sent into a store that takes nothing")
	case <-time.After(50 * time.Millisecond):
	}
	if n := testutil.ToFloat64(s.l.metrics.tcp.bytes); n > 256<<10 {
		t.Errorf("%v bytes read ahead of the store", n)
	}
	close(release)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	s.sink.waitPoints(lines)
}

// However much is read at once, a write is bounded.
func TestBatchSize(t *testing.T) {
	s := startServer(t, nil)
	d := newTestDelivery(s.sink, &s.log, nil)
	d.metrics = s.l.metrics
	b := s.l.newBatch(d, s.l.metrics.tcp)
	const points = 2*maxPoints + 5
	for range points {
		b.add(t.Context(), []byte("a 1 1"))
	}
	b.end(t.Context())
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	if n := len(s.sink.points); s.sink.largest != maxPoints || n != points {
		t.Errorf("%d points in writes of up to %d, want %d in writes of %d", n, s.sink.largest, points, maxPoints)
	}
}

// Points are held while the store is down, and stored once when it is back.
func TestFailingSink(t *testing.T) {
	s := startServer(t, nil)
	s.sink.set(true)
	s.send(s.dial("tcp"), "a 1 10\nb 2 20\n")
	s.send(s.dial("udp"), "c 3 30\n")
	s.sink.wait(func() bool { return s.sink.failed >= 3 })
	s.sink.set(false)
	s.wantPoints("a 1 @10", "b 2 @20", "c 3 @30")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if s.log.count("not stored") != 1 {
		t.Errorf("log:\n%s", s.log.String())
	}
}

// Points that were read before the process is told to stop still reach the store.
func TestShutdownDelivers(t *testing.T) {
	s := startServer(t, nil)
	release := s.sink.hold()
	s.send(s.dial("tcp"), "a 1 10\nb 2 20\nhalf")
	s.send(s.dial("udp"), "c 3 30")
	s.sink.wait(func() bool { return s.sink.inside == 2 })
	s.cancel()
	close(release)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	s.wantPoints("a 1 @10", "b 2 @20", "c 3 @30")
	if n := testutil.ToFloat64(s.l.metrics.rejected[ReasonUnfinished]); n != 1 {
		t.Errorf("%v unfinished lines, want 1", n)
	}
}

// Points that the store does not accept within the grace period are lost, and the loss is logged
// and counted.
func TestShutdownLoses(t *testing.T) {
	s := startServer(t, func(o *Options) { o.ShutdownGrace = 20 * time.Millisecond })
	s.sink.set(true)
	s.send(s.dial("tcp"), "a 1 10\nb 2 20\n")
	s.sink.wait(func() bool { return s.sink.failed > 0 })
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if n := testutil.ToFloat64(s.l.metrics.lost); n != 2 || s.log.count("points=2") != 1 {
		t.Errorf("%v points lost, want 2; log:\n%s", n, s.log.String())
	}
}

// Silent connections do not keep others out, and a connection that sends is not closed for them.
func TestMaxConnections(t *testing.T) {
	s := startServer(t, func(o *Options) { o.MaxConnections = 2 })
	one := s.dial("tcp")
	s.send(one, "a 1 10\n")
	s.wantPoints("a 1 @10")
	for range 10 {
		s.dial("tcp") // and is silent
	}
	s.send(s.dial("tcp"), "c 3 30\n")
	s.wantPoints("a 1 @10", "c 3 @30")
	s.send(one, "b 2 20\n")
	s.wantPoints("a 1 @10", "b 2 @20", "c 3 @30")
}

// Many senders at once do not mix up each other's points.
func TestManyConnections(t *testing.T) {
	s := startServer(t, nil)
	const senders, rounds, lines = 16, 10, 100
	var wg sync.WaitGroup
	for n := range senders {
		conn := s.dial("tcp")
		wg.Go(func() {
			for r := range rounds {
				var text strings.Builder
				for i := range lines {
					fmt.Fprintf(&text, "sender%02d.series%03d %d %d\n", n, i, r, 1000*n+r)
				}
				s.send(conn, text.String())
			}
		})
	}
	wg.Wait()
	points := s.sink.waitPoints(senders * rounds * lines)
	if n := len(slices.Compact(points)); n != senders*rounds*lines {
		t.Errorf("%d different points, want %d", n, senders*rounds*lines)
	}
	for _, p := range points {
		var sender, series, value, time int
		if _, err := fmt.Sscanf(p, "sender%d.series%d %d @%d", &sender, &series, &value, &time); err != nil || time != 1000*sender+value {
			t.Fatalf("%s: %v", p, err)
		}
	}
}

func TestNew(t *testing.T) {
	s := startServer(t, nil)
	o := DefaultOptions()
	o.Address, o.Logger, o.Registerer, o.Now = s.l.Addr().String(), slog.New(slog.DiscardHandler), prometheus.NewRegistry(), time.Now
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "--carbon.listen-address") {
		t.Errorf("a port that is taken: %v", err)
	}
	o.Address = "127.0.0.1:0"
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Run(t.Context(), newRecorder()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.Address = "2003" },
		func(o *Options) { o.MaxConnections = 0 },
		func(o *Options) { o.IdleTimeout = -1 },
		func(o *Options) { o.ReadBuffer = MaxLine },
		func(o *Options) { o.UDPQueue = 1 },
	} {
		bad := DefaultOptions()
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "carbon") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Without UDP the port is bound for TCP alone.
func TestWithoutUDP(t *testing.T) {
	s := startServer(t, func(o *Options) { o.UDP = false })
	var config net.ListenConfig
	conn, err := config.ListenPacket(t.Context(), "udp", s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	s.send(s.dial("tcp"), "a 1 10\n")
	s.wantPoints("a 1 @10")
}
