package read

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// BenchmarkRead reads 1000 series of an hour from an embedded store, as samples and as a stream.
func BenchmarkRead(b *testing.B) {
	p := newPromStorage(promtest.OpenStore(b, promtest.Engines()["embedded"](b)))
	promtest.WriteSteady(b, p, 1000)
	h := New(testOptions(p, Options{}))
	server := httptest.NewServer(h)
	defer server.Close()
	for name, types := range map[string][]prompb.ReadRequest_ResponseType{"samples": samplesType, "streamed": streamedType} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				resp := postRead(b, server, &prompb.ReadRequest{AcceptedResponseTypes: types, Queries: []*prompb.Query{promtest.ReadQuery(b, 0, 3600_000, nil, "m")}})
				n, err := io.Copy(io.Discard, resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK {
					b.Fatal(resp.StatusCode, err)
				}
				b.ReportMetric(float64(n)/240_000, "B/sample")
			}
		})
	}
}
