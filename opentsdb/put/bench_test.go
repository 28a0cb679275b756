package put

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

// telnetRun returns a function that sends a run of lines of known series, as a read of a connection
// has it.
func telnetRun(tb testing.TB, points int) (take func(), size int) {
	var run []byte
	for i := range points {
		run = fmt.Appendf(run, "put sys.cpu.user.percentage %d %d.%d host=web%05d dc=lga cpu=%d service=checkout\n", 1_356_998_400+i, i, i%10, i%opentsdbtest.BenchSeries, i%16)
	}
	t, d := telnetOver(newTestIngest(&opentsdbtest.Discard{}))
	l := NewLines(1<<20, 1024, nil)
	l.Swap(make([]byte, 0, len(run)+1))
	take = func() {
		l.Filled(copy(l.Room(), run))
		if t.Take(tb.Context(), &l, d); len(t.Answer) > 0 {
			tb.Fatalf("%q", t.Answer)
		}
	}
	take()
	return take, len(run)
}

// putRun returns a function that puts points of known series in one request.
func putRun(tb testing.TB, points int) (put func(), size int) {
	text := opentsdbtest.PutPoints(points)
	api := NewHandler(DefaultHandlerOptions(), newTestIngest(&opentsdbtest.Discard{}), otherEndpoints(), nil)
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
	opentsdbtest.Benchmark(b, take, size, 1000)
}

func BenchmarkHTTP(b *testing.B) {
	for _, points := range []int{50, 2000} {
		b.Run(strconv.Itoa(points), func(b *testing.B) {
			put, size := putRun(b, points)
			opentsdbtest.Benchmark(b, put, size, points)
		})
	}
}

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
