package adapter

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	promstorage "github.com/prometheus/prometheus/storage"
)

// writeSteady writes an hour of counters, a sample every 15 s.
func writeSteady(b *testing.B, p *promStorage, series int) {
	b.Helper()
	app := p.AppenderV2(b.Context())
	for i := range series {
		ls := labels.FromStrings("__name__", "m", "instance", fmt.Sprintf("host-%d:9100", i), "job", "node", "mode", "idle")
		for at := int64(0); at < 3600_000; at += 15_000 {
			if _, err := app.Append(0, ls, 0, at+int64(i%15), float64(at)*1.5, nil, nil, promstorage.AppendV2Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads 1000 series of an hour from an embedded store, as samples and as a stream.
func BenchmarkRead(b *testing.B) {
	p := newPromStorage(openStore(b, readEngines["embedded"](b)))
	writeSteady(b, p, 1000)
	h := newReadHandler(readHandlerOptions{Queryable: p, Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(h)
	defer server.Close()
	for name, types := range map[string][]prompb.ReadRequest_ResponseType{"samples": samplesType, "streamed": streamedType} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				resp := postRead(b, server, &prompb.ReadRequest{AcceptedResponseTypes: types, Queries: []*prompb.Query{readQuery(b, 0, 3600_000, nil, "m")}})
				n, err := io.Copy(io.Discard, resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK {
					b.Fatal(resp.StatusCode, err)
				}
				b.ReportMetric(float64(n)/240_000, "B/sample")
			}
		})
	}
}

// BenchmarkSelect iterates over the same, without HTTP.
func BenchmarkSelect(b *testing.B) {
	p := newPromStorage(openStore(b, readEngines["embedded"](b)))
	writeSteady(b, p, 1000)
	for b.Loop() {
		set := p.querier(0, 3600_000).Select(b.Context(), false, nil, matchersOf(b, "m")...)
		n := 0
		for set.Next() {
			it := set.At().Iterator(nil)
			for it.Next() != 0 {
				n++
			}
		}
		if n != 240_000 || set.Err() != nil {
			b.Fatal(n, set.Err())
		}
	}
}
