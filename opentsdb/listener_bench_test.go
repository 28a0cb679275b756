package opentsdb

import (
	"bytes"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

// connectionRun returns a function that puts points of known series over a connection.
func connectionRun(b *testing.B, points int) (put func()) {
	l := run(b, &opentsdbtest.Discard{}, nil)
	conn := l.dial(b)
	request := []byte(putText("/api/put", string(opentsdbtest.PutPoints(points))))
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

// BenchmarkConnection answers the puts of one connection.
func BenchmarkConnection(b *testing.B) {
	const points = 50
	opentsdbtest.Benchmark(b, connectionRun(b, points), len(opentsdbtest.PutPoints(points)), points)
}
