package carbon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// The points of a busy connection reach the sink completely and in order, although more is read
// while they are on their way.
func TestConnectionInOrder(t *testing.T) {
	s := startServer(t, nil)
	conn := s.dial("tcp")
	const points = 40_000
	var text bytes.Buffer
	var want []string
	for i := range points {
		fmt.Fprintf(&text, "servers.web-%d.load %d 10\n", i, i)
		want = append(want, fmt.Sprintf("servers.web-%d.load %d @10", i, i))
	}
	s.send(conn, text.String())
	s.sink.wait(func() bool { return len(s.sink.points) >= points })
	if got := s.sink.points; !slices.Equal(got, want) {
		t.Errorf("%d points, or in another order", len(got))
	}
}

// While the points of one read wait, one more read is made, and its points are stored even if the
// connection has ended.
func TestConnectionReadsAhead(t *testing.T) {
	s := startServer(t, nil)
	release := s.sink.hold()
	conn := s.dial("tcp")
	const points = 3 * netserver.PipelinePoints
	for i := range points {
		s.send(conn, fmt.Sprintf("a.%d 1 10\n", i))
	}
	_ = conn.Close()
	s.sink.wait(func() bool { return s.sink.inside == 1 })
	close(release)
	s.sink.waitPoints(points)
}

type nullSink struct{}

func (nullSink) Write(context.Context, []Point) error { return nil }

// stream is a connection that delivers a text repeatedly.
type stream struct {
	noConn
	text  []byte
	at    int
	times int
}

func (s *stream) Read(b []byte) (int, error) {
	if s.times == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.text[s.at:])
	if s.at += n; s.at == len(s.text) {
		s.at = 0
		s.times--
	}
	return n, nil
}

// BenchmarkConnection reads lines from a connection and passes their points to a sink that discards
// them.
func BenchmarkConnection(b *testing.B) {
	const points = 10_000
	for name, format := range map[string]string{
		"dotted": "dc1.host-%04d.node_network_transmit_bytes_total.eth%d %d.25 1741060000\n",
		"tagged": "node_network_transmit_bytes_total;instance=host-%04d;job=node;device=eth%d %d.25 1741060000\n",
	} {
		b.Run(name, func(b *testing.B) {
			var text []byte
			for i := range points {
				text = fmt.Appendf(text, format, i/8, i%8, i)
			}
			o := DefaultOptions()
			o.Address, o.UDP, o.Logger, o.Registerer, o.Now = "127.0.0.1:0", false, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), time.Now
			l, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			d := newDelivery(nullSink{}, o.Logger, l.metrics, nil)
			serve := func(times int) {
				l.serveConnection(b.Context(), b.Context(), &stream{text: text, times: times}, d)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			b.ResetTimer()
			serve(b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*points), "ns/point")
			// A connection and each of its reads allocate, points do not.
			if n := testing.AllocsPerRun(3, func() { serve(5) }); n > 5*points/100 {
				b.Fatalf("%v allocations for %d points", n, 5*points)
			}
		})
	}
}
