package relay

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/pickle"
)

// other is the other carbon. It takes lines, or the texts of pickled items.
type other struct {
	listener net.Listener
	protocol Protocol
	after    int // lines after which the first connection is closed; 0: never

	mu    sync.Mutex // guards all below
	lines []string
	conns []net.Conn
}

func startOther(t *testing.T, address string, protocol Protocol, after int) *other {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	o := &other{listener: l, protocol: protocol, after: after}
	t.Cleanup(o.stop)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns = append(o.conns, conn)
			first := len(o.conns) == 1
			o.mu.Unlock()
			go o.serve(conn, first)
		}
	}()
	return o
}

func (o *other) stop() {
	_ = o.listener.Close()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, conn := range o.conns {
		_ = conn.Close()
	}
}

func (o *other) serve(conn net.Conn, first bool) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 0; !first || o.after == 0 || n < o.after; n++ {
		lines, err := o.read(r)
		if err != nil {
			return
		}
		o.mu.Lock()
		o.lines = append(o.lines, lines...)
		o.mu.Unlock()
	}
}

// read reads a line, or a frame.
func (o *other) read(r *bufio.Reader) ([]string, error) {
	if o.protocol == Line {
		line, err := r.ReadString('\n')
		return []string{strings.TrimSuffix(line, "\n")}, err
	}
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	return unpickle(frame)
}

func unpickle(frame []byte) (lines []string, err error) {
	var d pickle.Decoder
	all, err := d.Decode(frame)
	if err != nil {
		return nil, err
	}
	for _, item := range d.Items(all) {
		pair := d.Items(item)
		numbers := d.Items(pair[1])
		name := d.Text(pair[0])
		lines = append(lines, fmt.Sprintf("%s %v %d", name, numbers[1].Number(), int64(numbers[0].Number())))
	}
	return lines, nil
}

func (o *other) received() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.lines)
}

// wait waits until there are so many different lines.
func (o *other) wait(t *testing.T, want int) []string {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		lines := distinct(o.received())
		if len(lines) >= want {
			return lines
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%d lines have come, want %d", len(lines), want)
		}
	}
}

// distinct returns lines without those that came before.
func distinct(lines []string) (first []string) {
	known := map[string]bool{}
	for _, line := range lines {
		if !known[line] {
			first = append(first, line)
		}
		known[line] = true
	}
	return first
}

// door is a running Forwarder.
type door struct {
	*Forwarder
	log  *lockedText
	stop func()
}

func open(t *testing.T, o Options) *door {
	t.Helper()
	d := &door{log: &lockedText{}}
	o.Logger, o.Registerer, o.Now = slog.New(slog.NewTextHandler(d.log, nil)), prometheus.NewRegistry(), time.Now
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	var err error
	if d.Forwarder, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx.Done()) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(d.stop)
	return d
}

// put puts so many points, numbered from one on, and returns their lines.
func (d *door) put(from, n int) (lines []string) {
	var points []carbon.Point
	for i := from; i < from+n; i++ {
		points = append(points, carbon.Point{Name: fmt.Appendf(nil, "servers.web%02d.cpu;n=%d", i%7, i), Time: int64(1_700_000_000 + i), Value: float64(i) / 8})
		lines = append(lines, fmt.Sprintf("%s %v %d", points[i-from].Name, points[i-from].Value, points[i-from].Time))
	}
	for part := range slices.Chunk(points, 100) {
		d.Put(part)
	}
	return lines
}

// TestForward sends by both protocols.
func TestForward(t *testing.T) {
	for _, protocol := range []Protocol{Line, Pickle} {
		o := startOther(t, "127.0.0.1:0", protocol, 0)
		d := open(t, Options{Address: o.listener.Addr().String(), Protocol: protocol, Dir: t.TempDir()})
		want := d.put(0, 10_000)
		if diff := cmp.Diff(want, o.wait(t, 10_000)); diff != "" {
			t.Errorf("%s: %s", protocol, diff)
		}
		if sent := testutil.ToFloat64(d.metrics.points); sent != 10_000 {
			t.Errorf("%v points sent", sent)
		}
	}
}

// TestForwardOutage: points wait for a carbon that is away, through a restart, in order; what a connection held
// that broke comes again.
func TestForwardOutage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := l.Addr().String(), t.TempDir()
	_ = l.Close()
	options := Options{Address: address, Protocol: Line, Dir: dir, confirmAfter: time.Second}
	d := open(t, options)
	want := d.put(0, 5000)
	for !strings.Contains(d.log.String(), "wait in the spool") && t.Context().Err() == nil { // after the first attempt
		time.Sleep(time.Millisecond)
	}
	d.stop()
	if !strings.Contains(d.log.String(), "wait in the spool") {
		t.Errorf("log:\n%s", d.log)
	}
	d = open(t, options)
	if d.spool.Lag() <= 0 {
		t.Error("no lag after the restart")
	}
	want = append(want, d.put(5000, 20_000)...)
	o := startOther(t, address, Line, 9000)
	if diff := cmp.Diff(want, o.wait(t, len(want))); diff != "" {
		t.Error(diff)
	}
	for begin := time.Now(); d.spool.Waiting() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("nothing is confirmed")
		}
	}
	o.stop()
	d.stop()
	o = startOther(t, address, Line, 0)
	d = open(t, options)
	want = d.put(25_000, 10)
	if diff := cmp.Diff(want, o.wait(t, len(want))); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
	d.stop() // in order: the other has read all
	if got := o.received(); len(got) != len(want) || d.spool.Waiting() != 0 {
		t.Errorf("%d lines have come, want %d", len(got), len(want))
	}
}

// TestForwardBreaks: connections that always break early do not keep the spool from being sent.
func TestForwardBreaks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, 1000)
			_ = conn.Close()
		}
	}()
	d := open(t, Options{Address: l.Addr().String(), Protocol: Line, Dir: t.TempDir(), confirmAfter: 10 * time.Millisecond})
	d.put(0, 1000)
	for begin := time.Now(); d.spool.Waiting() > 0 || d.spool.Lag() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 60*time.Second {
			t.Fatal("the same points are sent for ever")
		}
	}
}

// TestForwardFull: what a full spool drops is counted, and logged once; what it holds arrives.
func TestForwardFull(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	space := true
	var mu sync.Mutex
	d := open(t, Options{Address: address, Protocol: Line, Dir: t.TempDir(), MaxBytes: 4 << 20, segmentBytes: 1 << 20, HasSpace: func(string) bool {
		mu.Lock()
		defer mu.Unlock()
		return space
	}})
	dropped := func(reason string) int { return int(testutil.ToFloat64(d.metrics.dropped[reason])) }
	r := rand.New(rand.NewPCG(1, 2))
	put := 0
	for ; dropped(dropFull) < 1000; put++ {
		name := make([]byte, 1000)
		for i := range name {
			name[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-"[r.IntN(64)]
		}
		d.Put([]carbon.Point{{Name: name, Time: int64(put), Value: 1}})
		if put%1000 == 999 {
			time.Sleep(time.Millisecond)
		}
	}
	o := startOther(t, address, Line, 0)
	for begin := time.Now(); d.spool.Lag() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("the spool does not empty")
		}
	}
	for begin := time.Now(); len(o.received())+dropped(dropFull)+dropped(dropMemory) < put; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%d received and %d dropped of %d", len(o.received()), dropped(dropFull)+dropped(dropMemory), put)
		}
	}
	mu.Lock()
	space = false
	mu.Unlock()
	d.put(0, 10)
	for begin := time.Now(); dropped(dropDisk) < 10 && time.Since(begin) < 30*time.Second; {
		time.Sleep(5 * time.Millisecond)
	}
	if got := dropped(dropDisk); got != 10 {
		t.Errorf("%d dropped for the disk", got)
	}
	d.stop()
	if n := strings.Count(d.log.String(), "the spool takes no points"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, d.log)
	}
}

// TestForwardDamage: a damaged record of the spool is logged and given up, and what comes after it is sent.
func TestForwardDamage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := l.Addr().String(), t.TempDir()
	_ = l.Close()
	d := open(t, Options{Address: address, Protocol: Line, Dir: dir, confirmAfter: 10 * time.Millisecond})
	d.put(0, 100)
	for d.spool.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "spool", "*.log"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	before := d.spool.Waiting()
	want := d.put(100, 10)
	for d.spool.Waiting() == before {
		time.Sleep(time.Millisecond)
	}
	bytes, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	bytes[100] ^= 1
	if err := os.WriteFile(files[0], bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	o := startOther(t, address, Line, 0)
	for begin := time.Now(); testutil.ToFloat64(d.metrics.dropped[dropDamage]) == 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("the damage is not noticed")
		}
	}
	want = append(want, d.put(200, 10)...)
	if diff := cmp.Diff(want, o.wait(t, 20)); diff != "" {
		t.Error(diff)
	}
	for begin := time.Now(); d.spool.Waiting() > 0; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("what was sent is not confirmed")
		}
	}
}

// TestOptions: the flag is named.
func TestOptions(t *testing.T) {
	good := Options{Address: "a:1", Protocol: Line, MaxBytes: 1 << 30}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"--carbon.forward=a":                  func(o *Options) { o.Address = "a" },
		"--carbon.forward-protocol=x":         func(o *Options) { o.Protocol = "x" },
		"--carbon.forward-max-bytes=33554431": func(o *Options) { o.MaxBytes = 32<<20 - 1 },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestWire: what one protocol has no form for is refused, and the other sends it.
func TestWire(t *testing.T) {
	var points []byte
	for _, p := range []carbon.Point{
		{Name: []byte("a b"), Time: 1, Value: 1},
		{Name: []byte("ü"), Time: carbon.MaxTime, Value: math.Inf(-1)},
		{Name: []byte(strings.Repeat("n", carbon.MaxLine-2)), Time: 0, Value: 0},
		{Name: []byte("exact"), Time: 5, Value: 0.1},
	} {
		points = appendPoint(points, p)
	}
	w := wire{protocol: Line}
	bytes, sent, err := w.encode(points)
	if want := "ü -Inf 4294967295\nexact 0.1 5\n"; string(bytes) != want || sent != 2 || w.refused != 2 || err != nil {
		t.Errorf("%q, %d, %v", bytes, sent, err)
	}
	w = wire{protocol: Pickle}
	if bytes, sent, err = w.encode(points); sent != 4 || err != nil {
		t.Fatal(sent, err)
	}
	lines, err := unpickle(bytes[4:])
	if err != nil || len(lines) != 4 || lines[0] != "a b 1 1" || lines[1] != "ü -Inf 4294967295" || lines[3] != "exact 0.1 5" {
		t.Errorf("%.200q, %v", lines, err)
	}
	if n := binary.BigEndian.Uint32(bytes); int(n) != len(bytes)-4 {
		t.Errorf("a frame of %d bytes says %d", len(bytes), n)
	}
}

// FuzzRecord: records are read as they were written, and others do no harm.
func FuzzRecord(f *testing.F) {
	f.Add(appendRecord(nil, 5, appendPoint(nil, carbon.Point{Name: []byte("a.b"), Time: 7, Value: 1.5})))
	f.Fuzz(func(t *testing.T, record []byte) {
		at, points, err := parseRecord(nil, record)
		if err != nil {
			return
		}
		w := wire{protocol: Pickle}
		if _, _, err := w.encode(points); err != nil {
			if !errors.Is(err, errRecord) {
				t.Error(err)
			}
			return
		}
		again, same, err := parseRecord(nil, appendRecord(nil, at, points))
		if again != at || string(same) != string(points) || err != nil {
			t.Errorf("%d %q is read as %d %q, %v", at, points, again, same, err)
		}
		rest, total := points, 0
		for len(rest) > 0 {
			var first []byte
			var n int
			if first, rest, n, err = cutRecord(rest); err != nil || n == 0 || len(first) > mostPoints {
				t.Fatal(n, err)
			}
			total += len(first)
		}
		if total != len(points) {
			t.Errorf("%d bytes of %d", total, len(points))
		}
	})
}

// lockedText is a log that is read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
