package carbon

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/encoding/protowire"
)

// pickles are frames that Python made, by their names; see testdata/pickles.py.
func pickles(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/pickles.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for line := range bytes.Lines(text) {
		var one struct {
			Name  string
			Frame []byte
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		all[one.Name] = one.Frame
	}
	return all
}

func framed(frame []byte) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(frame)))) + string(frame)
}

// startFramed starts a server without lines.
func startFramed(t *testing.T, change func(*Options)) *server {
	return startServer(t, func(o *Options) {
		o.Address, o.PickleAddress, o.ProtobufAddress = "", "127.0.0.1:0", "127.0.0.1:0"
		if change != nil {
			change(o)
		}
	})
}

// dialFramed connects to the port of a protocol.
func (s *server) dialFramed(protocol string) net.Conn {
	for _, address := range s.l.Addresses() {
		if address.Protocol == Lines+" "+protocol {
			conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", address.String())
			if err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
	}
	s.t.Fatalf("no port of %s", protocol)
	return nil
}

// rejected returns the reasons of what was refused, with their counts.
func (s *server) rejected() string {
	var all []string
	for r, c := range s.l.metrics.rejected {
		if c != nil && testutil.ToFloat64(c) > 0 {
			all = append(all, fmt.Sprint(Reason(r), " ", testutil.ToFloat64(c)))
		}
	}
	return strings.Join(all, ", ")
}

// TestPickles: what points a frame gives, what is refused of it, and whether it closes the connection.
func TestPickles(t *testing.T) {
	three := []string{"p.a -3 @1741060002", "p.a 1.5 @1741060000", "p.ж 2 @1741060001"}
	cases := map[string]struct {
		points   []string
		rejected string
		closes   bool
	}{
		"texts and booleans": {points: []string{"p.b 1 @1741060000", "p.l 7 @1741060000", "p.t 10.5 @1741060000"}},
		"shapes":             {[]string{"p.s 1 @1741060000", "p.s 2 @1741060001"}, "value 1, timestamp 1, shape 9", false},
		"NaN and times":      {[]string{fmt.Sprintf("p.n 1 @%d", testNow), "p.n 2 @1741060000"}, "nan 1, time_range 2", false},
		"name of a number":   {[]string{"p.x 1 @1741060000"}, "name 1", true},
		"infinite time":      {[]string{"p.i 1 @1741060000"}, "timestamp_inf 1", true},
		"time that is NaN":   {nil, "timestamp_nan 1", true},
		"scalar":             {nil, "no_list 1", true},
		"text":               {nil, "shape 1", false},
		"dictionary":         {nil, "shape 1", false},
	}
	for name, frame := range pickles(t) {
		want, known := cases[name]
		if !known && strings.HasPrefix(name, "points, protocol") {
			want.points, known = three, true
		}
		if !known {
			t.Errorf("%s: what is expected of it?", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := startFramed(t, nil)
			conn := s.dialFramed(protocolPickle)
			s.send(conn, framed(frame))
			last := want.points
			if want.closes {
				waitClosed(conn)
			} else { // the connection goes on
				s.send(conn, framed(nil)+framed([]byte("](X\x05\x00\x00\x00z.endK\x05K\x06\x86\x86e.")))
				last = append(slices.Clip(last), "z.end 6 @5")
			}
			s.wantPoints(last...)
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			if got := s.rejected(); got != want.rejected {
				t.Errorf("rejected: %s, want %s", got, want.rejected)
			}
		})
	}
}

// TestProtobuf takes points as carbon's protobuf has them, and drops a malformed frame whole.
func TestProtobuf(t *testing.T) {
	point := func(at uint64, value float64) []byte {
		b := protowire.AppendVarint(protowire.AppendTag(nil, pointTime, protowire.VarintType), at)
		return protowire.AppendFixed64(protowire.AppendTag(b, pointValue, protowire.Fixed64Type), math.Float64bits(value))
	}
	metric := func(name string, points ...[]byte) []byte {
		b := protowire.AppendString(protowire.AppendTag(nil, metricName, protowire.BytesType), name)
		for _, p := range points {
			b = protowire.AppendBytes(protowire.AppendTag(b, metricPoints, protowire.BytesType), p)
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, payloadMetrics, protowire.BytesType), b)
	}
	s := startFramed(t, nil)
	conn := s.dialFramed(protocolProtobuf)
	good := append(metric("b.a", point(5, 1.5), point(6, math.NaN())), metric("b.b", point(math.MaxUint32, -2), nil)...)
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 7)
	s.send(conn, framed(append(unknown, good...)))
	s.send(conn, framed(append(metric("lost.a", point(5, 1)), 0xff)))
	s.send(conn, framed(metric("lost.\xff", point(5, 1))))
	s.send(conn, framed(metric("", point(5, 1))))
	s.send(conn, framed(metric("z", point(7, 7))))
	s.wantPoints("b.a 1.5 @5", "b.b -2 @4294967295", "b.b 0 @0", "z 7 @7")
	if got := s.rejected(); got != "nan 1, frame 2, shape 1" {
		t.Errorf("rejected: %s", got)
	}
}

// TestFramesWaitForTheStore: frames reach the store in their order, cut anywhere on their way, however
// often it fails; one that is too long, and one that ends too early, are counted.
func TestFramesWaitForTheStore(t *testing.T) {
	s := startFramed(t, func(o *Options) { o.FrameBytes = leastFrame })
	s.sink.set(true)
	var text strings.Builder
	var want []string
	for i := range 300 {
		text.WriteString(framed(fmt.Appendf(nil, "(lp0\n(S'n.%d'\n(I%d\nI1\ntta.", i, 1000+i)))
		want = append(want, fmt.Sprintf("n.%d 1 @%d", i, 1000+i))
	}
	conn := s.dialFramed(protocolPickle)
	go func() {
		for piece := text.String(); piece != ""; {
			n := min(len(piece), 7)
			if _, err := conn.Write([]byte(piece[:n])); err != nil {
				return
			}
			piece = piece[n:]
		}
	}()
	s.sink.wait(func() bool { return s.sink.failed > 0 })
	s.sink.set(false)
	s.sink.wait(func() bool { return len(s.sink.points) == len(want) })
	for i, got := range s.sink.points {
		if got != want[i] {
			t.Fatalf("point %d: %s, want %s", i, got, want[i])
		}
	}
	cut := s.dialFramed(protocolPickle)
	s.send(cut, framed(make([]byte, 100))[:50])
	if err := cut.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	waitClosed(cut)
	long := s.dialFramed(protocolPickle)
	s.send(long, "GET / HTTP/1.1\r\n")
	waitClosed(long)
	if got := s.rejected(); got != "too_long 1, unfinished 1" {
		t.Errorf("rejected: %s", got)
	}
}

// TestManyPointsOfAFrame: more points than go to the sink at once, and a frame with more points than its
// length can have.
func TestManyPointsOfAFrame(t *testing.T) {
	s := startFramed(t, nil)
	conn := s.dialFramed(protocolPickle)
	var frame bytes.Buffer
	frame.WriteString("](")
	const n = maxPoints + 100
	for i := range n {
		fmt.Fprintf(&frame, "X\x01\x00\x00\x00mJ%sK\x01\x86\x86", binary.LittleEndian.AppendUint32(nil, uint32(i)))
	}
	frame.WriteString("e.")
	for range 3 {
		s.send(conn, framed(frame.Bytes()))
	}
	bomb := "](X\x01\x00\x00\x00mK\x01K\x01\x86\x86" + strings.Repeat("2", 10_000) + "e."
	s.send(conn, framed([]byte(bomb))+framed([]byte("](X\x01\x00\x00\x00zK\x01K\x01\x86\x86e.")))
	s.sink.wait(func() bool { return len(s.sink.points) > 3*n })
	if last := s.sink.points[3*n]; last != "z 1 @1" {
		t.Errorf("a point of the bomb: %s", last)
	}
	if s.sink.largest > maxPoints {
		t.Errorf("%d points at once", s.sink.largest)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if got := s.rejected(); got != "frame 1" {
		t.Errorf("rejected: %s", got)
	}
}

// TestFramesShareMemory: when the memory of frames is used up, the connection whose frame began first is
// closed, and the others go on.
func TestFramesShareMemory(t *testing.T) {
	s := startFramed(t, func(o *Options) { o.frameBudget = 3 << 20 })
	var slow []net.Conn
	for range 3 {
		conn := s.dialFramed(protocolPickle)
		s.send(conn, framed(make([]byte, 1<<20))[:900<<10])
		slow = append(slow, conn)
	}
	last := s.dialFramed(protocolPickle)
	name := strings.Repeat("n", 300<<10)
	s.send(last, framed([]byte("](X"+string(binary.LittleEndian.AppendUint32(nil, uint32(len(name))))+name+"K\x01K\x01\x86\x86e.")))
	s.wantPoints(name + " 1 @1")
	closed := make(chan struct{}, len(slow))
	for _, conn := range slow {
		go func() {
			waitClosed(conn)
			closed <- struct{}{}
		}()
	}
	<-closed
}

// FuzzPickleRows: a frame that is read as rows gives the same points, and refuses the same, as one whose values are
// decoded.
func FuzzPickleRows(f *testing.F) {
	for _, frame := range pickles(f) {
		f.Add(frame)
	}
	f.Add([]byte("\x80\x02]q\x00(U\x01aq\x01J\xff\xff\xff\xffG\x7f\xf8\x00\x00\x00\x00\x00\x00\x86q\x02\x86q\x03h\x01K\x01K\x02\x86\x86e."))
	f.Add([]byte("](h\x00K\x01K\x02\x86\x86X\x00\x00\x00\x00K\x01K\x02\x86\x86e."))
	parser := newPickleParser()
	read := func(content []byte, parse func(*frame, int64, func(Reason, []byte)) Reason) string {
		fr := &frame{bytes: content}
		var refused [reasons]int
		reason := parse(fr, testNow, func(reason Reason, _ []byte) { refused[reason]++ })
		return fmt.Sprintf("%v %v %v", reason, refused, fr.points)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if got, want := read(content, parser.parse), read(content, parser.parseValues); got != want {
			t.Errorf("%q: %s, decoded %s", content, got, want)
		}
	})
}

func FuzzFrames(f *testing.F) {
	for _, frame := range pickles(f) {
		f.Add(frame)
	}
	parser := newPickleParser()
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, parse := range []func(*frame, int64, func(Reason, []byte)) Reason{parser.parse, parseProtobuf} {
			fr := &frame{bytes: content}
			parse(fr, testNow, func(Reason, []byte) {})
			if len(fr.points) > len(content)/leastPoint+1 {
				t.Errorf("%d points in %d bytes", len(fr.points), len(content))
			}
			for _, p := range fr.points {
				if len(p.Name) == 0 || p.Time < 0 || p.Time > MaxTime || math.IsNaN(p.Value) {
					t.Errorf("point %q %v @%d", p.Name, p.Value, p.Time)
				}
			}
		}
	})
}

// BenchmarkPickle reads frames of 500 points, as carbon-relay sends them.
func BenchmarkPickle(b *testing.B) {
	var content bytes.Buffer
	content.WriteString("\x80\x02]q\x00(")
	const n = 500
	for i := range n {
		name := fmt.Sprintf("servers.host%04d.cpu.user", i)
		fmt.Fprintf(&content, "X%s%sq\x01J%sG%s\x86q\x02\x86q\x03", binary.LittleEndian.AppendUint32(nil, uint32(len(name))), name,
			binary.LittleEndian.AppendUint32(nil, 1741060000), binary.BigEndian.AppendUint64(nil, math.Float64bits(float64(i)/7)))
	}
	content.WriteString("e.")
	parser := newPickleParser()
	fr := &frame{}
	for b.Loop() {
		fr.empty()
		fr.bytes = content.Bytes()
		if reason := parser.parse(fr, testNow, nil); reason != 0 {
			b.Fatal(reason)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/point")
}

// TestSharedNames: points that share a name, as a pickle may have it, take no memory for it each, whether it is a
// part of the pickle or not; and a frame cannot make the store read a long name very often.
func TestSharedNames(t *testing.T) {
	point := "h\x00K\x05K\x06\x86\x86" // the name of memo 0, (5, 6)
	for what, name := range map[string]func(n int) string{
		"in the pickle": func(n int) string {
			return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) + strings.Repeat("x", n)
		},
		"escaped": func(n int) string { return "V" + strings.Repeat("x", n) + "\n" },
	} {
		for _, c := range []struct {
			n, points, want int
			reason          Reason
		}{{20, 60_000, 60_000, 0}, {16_000, 60_000, 1900, ReasonFrame}, {400_000, 60_000, 100, ReasonFrame}} {
			fr := &frame{bytes: []byte(name(c.n) + "q\x000](" + strings.Repeat(point, c.points) + "e.")}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			reason := newPickleParser().parse(fr, testNow, func(reason Reason, _ []byte) { t.Errorf("%s: %v", what, reason) })
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
				t.Errorf("%s: %d names of %d bytes made %d MiB", what, c.points, c.n, made>>20)
			}
			if got := len(fr.points); reason != c.reason || got < c.want || got > 2*c.want {
				t.Errorf("%s: %d names of %d bytes are %d points, %v", what, c.points, c.n, got, reason)
			}
			for _, p := range fr.points {
				if len(p.Name) != c.n || p.Name[0] != 'x' {
					t.Fatalf("%s: a name of %d bytes: %.10s", what, len(p.Name), p.Name)
				}
			}
		}
	}
}
