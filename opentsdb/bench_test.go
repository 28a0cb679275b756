package opentsdb

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const benchSeries = 10_000

func testAbout() (*about, *listenerMetrics) {
	o := defaultListenerOptions()
	o.Version, o.Revision, o.Build = "1.0", "abc", "go"
	o.Logger, o.Registerer = slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	o.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	m := newListenerMetrics(o.Registerer)
	return &about{o: o, host: "here", statistics: (&listener{metrics: m}).statistics}, m
}

// telnetRun returns a function that sends a run of lines of known series, as a read of a connection
// has it.
func telnetRun(tb testing.TB, points int) (take func(), size int) {
	var run []byte
	for i := range points {
		run = fmt.Appendf(run, "put sys.cpu.user.percentage %d %d.%d host=web%05d dc=lga cpu=%d service=checkout\n", 1_356_998_400+i, i, i%10, i%benchSeries, i%16)
	}
	about, metrics := testAbout()
	t := telnet{puts: newTestIngest(&discard{}), about: about}
	d := newDelivery(about.o.Logger, metrics.delivery, nil)
	l := newLines(1<<20, 1024, nil)
	l.Swap(make([]byte, 0, len(run)+1))
	take = func() {
		l.Filled(copy(l.Room(), run))
		if t.take(tb.Context(), &l, d); len(t.answer) > 0 {
			tb.Fatalf("%q", t.answer)
		}
	}
	take()
	return take, len(run)
}

// putPoints returns a body of points.
func putPoints(points int) []byte {
	text := []byte{'['}
	for i := range points {
		text = fmt.Appendf(text, `{"metric":"sys.cpu.user.percentage","timestamp":%d,"value":%d.%d,"tags":{"host":"web%05d","dc":"lga","cpu":"%d","service":"checkout"}},`,
			1_356_998_400+i, i, i%10, i%benchSeries, i%16)
	}
	text[len(text)-1] = ']'
	return text
}

// connectionRun returns a function that puts points of known series over a connection.
func connectionRun(b *testing.B, points int) (put func()) {
	l := run(b, &discard{}, nil)
	conn := l.dial(b)
	request := []byte(putText("/api/put", string(putPoints(points))))
	answer := make([]byte, 4096)
	return func() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		if n, err := conn.Read(answer); err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 204 ")) {
			b.Fatalf("%q, %v", answer[:n], err)
		}
	}
}

// putRun returns a function that puts points of known series in one request.
func putRun(tb testing.TB, points int) (put func(), size int) {
	text := putPoints(points)
	api := newAPI(defaultAPIOptions(), newTestIngest(&discard{}), otherEndpoints(), nil)
	reader := bytes.NewReader(text)
	r := httptest.NewRequest(http.MethodPost, "/api/put", nil)
	r.Body, r.ContentLength = io.NopCloser(reader), int64(len(text))
	put = func() {
		reader.Reset(text)
		w := httptest.NewRecorder()
		if api.ServeHTTP(w, r); w.Code != http.StatusNoContent {
			tb.Fatal(w.Body)
		}
	}
	put()
	return put, len(text)
}

func BenchmarkTelnet(b *testing.B) {
	take, size := telnetRun(b, 1000)
	benchmark(b, take, size, 1000)
}

func BenchmarkHTTP(b *testing.B) {
	for _, points := range []int{50, 2000} {
		b.Run(strconv.Itoa(points), func(b *testing.B) {
			put, size := putRun(b, points)
			benchmark(b, put, size, points)
		})
	}
}

// BenchmarkConnection answers the puts of one connection.
func BenchmarkConnection(b *testing.B) {
	const points = 50
	benchmark(b, connectionRun(b, points), len(putPoints(points)), points)
}

func benchmark(b *testing.B, do func(), size, points int) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*points), "ns/point")
	b.StopTimer()
	// The allocations of a run do not depend on its number of points.
	if n := testing.AllocsPerRun(10, do); n > runAllocations {
		b.Fatalf("%v allocations for %d points of known series", n, points)
	}
}

// runAllocations are the allocations of a request or of a read of a connection; a point of a known
// series has none.
const runAllocations = 60

// Points of known series do not allocate. The race detector makes pools drop some of their content.
func TestAllocations(t *testing.T) {
	take, _ := telnetRun(t, 1000)
	put, _ := putRun(t, 1000)
	for what, do := range map[string]func(){"telnet": take, "http": put} {
		if n := testing.AllocsPerRun(100, do); n > 100 {
			t.Errorf("%s: %v allocations for 1000 points", what, n)
		}
	}
}
