package put

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/opentsdb/api"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// testProcess answers commands about the process.
type testProcess struct{}

func (testProcess) Version() string { return "tsdbridge 1.0 built at revision abc\nBuilt with go" }

func (testProcess) AppendStats(b []byte) []byte {
	for _, s := range []httpapi.Statistic{
		{Name: "connectionmgr.connections", Tags: "type=open"},
		{Name: "connectionmgr.connections", Tags: "type=total"},
		{Name: "rpc.received", Tags: "type=telnet"},
		{Name: "rpc.errors", Tags: "type=invalid_values"},
	} {
		b = s.Line(b, time.Unix(1_700_000_000, 0), "here")
	}
	return b
}

// telnetOver returns what serves a connection of telnet.
func telnetOver(in *Store) (*Telnet, *Delivery) {
	d := NewDelivery(slog.New(slog.DiscardHandler), NewDeliveryMetrics(prometheus.NewRegistry()), nil)
	return &Telnet{Puts: in, About: testProcess{}}, d
}

func newTestIngest(a storage.Appender, change ...func(*Options)) *Store {
	o := DefaultOptions()
	o.Appender, o.CacheEntries, o.Registerer = a, 100_000, prometheus.NewRegistry()
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

// words are those of JSON that only Jackson knows.
var words = regexp.MustCompile(`NaN|Infinity|INF`)

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// otherEndpoints are those that are not put, without a store.
func otherEndpoints() http.Handler {
	return api.New(api.Options{Concurrency: 1, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
}
