package webport

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// guarded is an HTTP port over a handler.
type guarded struct {
	addr     string
	registry *prometheus.Registry
	t        *testing.T
}

func startGuarded(t *testing.T, change func(*Options), handler http.Handler) guarded {
	t.Helper()
	registry := prometheus.NewRegistry()
	o := Options{MaxConnections: 512, BodyBytes: 16 << 20, InFlightBytes: 64 << 20, Hosts: &netserver.Hosts{}, Logger: slog.New(slog.DiscardHandler), Registerer: registry}
	if change != nil {
		change(&o)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(NewGuard(handler, handler, o), o)
	done := make(chan error, 1)
	go func() { done <- server.Serve(Listen(l, o)) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return guarded{l.Addr().String(), registry, t}
}

// say sends text on a connection of its own.
func (g guarded) say(text string) net.Conn {
	g.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(g.t.Context(), "tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, text)
	return conn
}

// ask sends text and returns the status and text of the answer.
func (g guarded) ask(text string) string {
	g.t.Helper()
	conn := g.say(text)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", r.StatusCode, body)
}

// bytes returns how many bytes of bodies are being received or served.
func (g guarded) bytes() float64 {
	g.t.Helper()
	families, err := g.registry.Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "tsdbridge_web_in_flight_bytes" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	g.t.Fatal("no tsdbridge_web_in_flight_bytes")
	return 0
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

// echo answers with the length of the body.
func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%d%v", len(b), err)
}

// Clients that send half a head, half a body or nothing do not keep others out.
func TestWebHalfRequests(t *testing.T) {
	const most = 10
	g := startGuarded(t, func(o *Options) { o.MaxConnections = most }, http.HandlerFunc(echo))
	for _, half := range []string{
		"", "G", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345", get("/"),
		"POST /write HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
	} {
		for range 3 * most {
			g.say(half)
		}
		if got := g.ask(get("/")); got != "200 0<nil>" {
			t.Errorf("after %q: %s", half, got)
		}
	}
}

// While all connections are in use, a liveness probe is still answered, and other requests are told
// that the process is busy.
func TestWebReserve(t *testing.T) {
	entered, leave := make(chan bool), make(chan bool)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- true
			<-leave
		}
		echo(w, r)
	}
	g := startGuarded(t, func(o *Options) { o.MaxConnections = 2 }, http.HandlerFunc(handler))
	for range 2 {
		g.say(get("/slow"))
		<-entered
	}
	for range 3 * reserve {
		for _, path := range []string{"/-/healthy", "/-/ready", "/metrics"} {
			if got := g.ask(get(path)); got != "200 0<nil>" {
				t.Fatalf("%s: %s", path, got)
			}
		}
		if got := g.ask(get("/api/v1/query")); !strings.HasPrefix(got, "503 ") || !strings.Contains(got, "--web.max-connections") {
			t.Fatalf("a query: %s", got)
		}
	}
	close(leave)
}

func TestWebLimits(t *testing.T) {
	g := startGuarded(t, func(o *Options) { o.BodyBytes, o.InFlightBytes = 1000, 40_000 }, http.HandlerFunc(echo))
	body := func(n int) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("x", n))
	}
	chunked := func(n int) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", n, strings.Repeat("x", n))
	}
	withFields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "x%d: y\r\n", i)
		}
		return "GET / HTTP/1.1\r\nHost: x\r\n" + b.String() + "\r\n"
	}
	for _, c := range []struct{ text, want string }{
		{body(1000), "200 1000<nil>"},
		{body(1001), "413 a body of more than 1000 bytes (--web.max-body-bytes)\n"},
		{body(20 << 20), "413 a body of more than 1000 bytes (--web.max-body-bytes)\n"},
		{chunked(1000), "200 1000<nil>"},
		{chunked(1001), "413 a body of more than 1000 bytes (--web.max-body-bytes)\n"},
		{strings.Replace(body(0), "Length: 0", "Length: 99999999999999", 1), "413 a body of more than 1000 bytes (--web.max-body-bytes)\n"},
		{withFields(fields - 1), "200 0<nil>"},
		{withFields(fields + 1), "431 more than 200 fields in the head of the request\n"},
		{get("/" + strings.Repeat("x", 2*head)), "431 431 Request Header Fields Too Large"},
		{"GET / HTTP/1.1\r\nHost: x\r\nx: " + strings.Repeat("x", 2*head) + "\r\n\r\n", "431 431 Request Header Fields Too Large"},
	} {
		if got := g.ask(c.text); got != c.want {
			t.Errorf("%.60q: %.100s, want %s", c.text, got, c.want)
		}
	}
}

// Slow bodies give way when there is no memory for the bytes of another. Each sender waits until
// the one before it is being received, so their order is known. The oldest two give way in every
// run: the first 16 KiB of all senders together are already more than the limit.
func TestWebSlowBodies(t *testing.T) {
	const size = 64 << 10
	g := startGuarded(t, func(o *Options) { o.BodyBytes, o.InFlightBytes = size, 4*size }, http.HandlerFunc(echo))
	begin := fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", size)
	part := strings.Repeat("x", size-1)

	oldest := g.say(begin + "\r\n" + part)
	for g.bytes() == 0 && t.Context().Err() == nil { // until it is being received
		runtime.Gosched()
	}
	var waiting []*bufio.Reader
	for range 20 {
		conn := g.say(begin + "Expect: 100-continue\r\n\r\n")
		r := bufio.NewReader(conn)
		wantAnswer(t, "a sender that may begin", r, http.StatusContinue)
		_, _ = io.WriteString(conn, part)
		waiting = append(waiting, r)
	}
	if got := g.ask(begin + "\r\n" + part + "x"); got != fmt.Sprintf("200 %d<nil>", size) {
		t.Errorf("a whole body: %.100s", got)
	}
	busy := wantAnswer(t, "a sender that waits for answers", waiting[0], http.StatusServiceUnavailable)
	if busy.Get("Retry-After") == "" {
		t.Errorf("a sender that waits for answers is not told when to try again: %v", busy)
	}
	// A sender that did not ask whether it may begin is answered when the rest of its body has been
	// read, after netserver.Drain's 30 seconds at the latest.
	_, _ = io.WriteString(oldest, "x")
	busy = wantAnswer(t, "the oldest sender", bufio.NewReader(oldest), http.StatusServiceUnavailable)
	if busy.Get("Retry-After") == "" {
		t.Errorf("the oldest sender is not told when to try again: %v", busy)
	}
}

// wantAnswer reads the head of an answer, checks its status and returns its fields.
func wantAnswer(t *testing.T, who string, r *bufio.Reader, want int) http.Header {
	t.Helper()
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("%s: %v", who, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != want {
		t.Fatalf("%s: status %d, want %d", who, answer.StatusCode, want)
	}
	return answer.Header
}

// One profile runs at a time, and for a limited time.
func TestWebProfiles(t *testing.T) {
	r := chi.NewRouter()
	RouteProfiles(r, func() []string { return nil })
	a := startGuarded(t, nil, r)
	if got := a.ask(get("/debug/pprof/profile?seconds=121")); !strings.HasPrefix(got, "400 ") {
		t.Errorf("two minutes: %s", got)
	}
	if got := a.ask(get("/debug/pprof/trace?seconds=NaN")); !strings.HasPrefix(got, "400 ") {
		t.Errorf("NaN: %.100s", got)
	}
	conn := a.say(get("/debug/pprof/profile?seconds=60"))
	defer conn.Close()
	for t.Context().Err() == nil { // until it has begun
		if got := a.ask(get("/debug/pprof/cmdline?seconds=1")); !strings.HasPrefix(got, "200 ") {
			t.Fatal(got)
		}
		got := a.ask(get("/debug/pprof/symbol"))
		if strings.HasPrefix(got, "503 ") {
			return
		}
	}
}

// TestRefusedBodyIsReadToItsEnd: a client that sends 20 MB before it reads gets the answer, not a
// reset.
func TestRefusedBodyIsReadToItsEnd(t *testing.T) {
	g := startGuarded(t, nil, http.NotFoundHandler())
	const size = 20 << 20
	for name, request := range map[string]string{
		"with its length": fmt.Sprintf("POST /render HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size)),
		"in chunks":       fmt.Sprintf("POST /render HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("x", size)),
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, request)
		if err == nil {
			var answer *http.Response
			if answer, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil && answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: status %d, want 413", name, answer.StatusCode)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = conn.Close()
	}
}

// Long heads that never end do not fill the memory, and do not keep out a short head or a single
// long one.
func TestWebLongHeads(t *testing.T) {
	g := startGuarded(t, nil, http.HandlerFunc(echo))
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, "x%d: %s\r\n", i, strings.Repeat("y", 300))
	}
	long := "GET / HTTP/1.1\r\nHost: x\r\n" + b.String()
	var open []net.Conn
	for range 3 * heads / len(long) {
		open = append(open, g.say(long))
	}
	if got := g.ask(get("/")); got != "200 0<nil>" {
		t.Errorf("a short head: %s", got)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	for range 100 { // until the others are seen to be gone
		r, err := http.ReadResponse(bufio.NewReader(g.say(long+"\r\n")), nil)
		if err == nil && r.Body.Close() == nil && r.StatusCode == http.StatusOK {
			return
		}
	}
	t.Error("a long head alone is refused")
}
