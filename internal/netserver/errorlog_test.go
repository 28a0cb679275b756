package netserver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// The texts of net/http become records with one message for each kind, and failed handshakes are counted.
func TestErrorLog(t *testing.T) {
	registry, out := prometheus.NewRegistry(), &bytes.Buffer{}
	l := NewErrorLog("http", slog.New(slog.NewTextHandler(out, nil)), registry)
	for _, c := range []struct{ text, want string }{
		{"http: TLS handshake error from 192.0.2.1:5: EOF", `level=INFO msg="TLS handshake failed" err="from 192.0.2.1:5: EOF"`},
		{"http: TLS handshake error from 192.0.2.1:6: tls: bad\nline", `level=INFO msg="TLS handshake failed" err="from 192.0.2.1:6: tls: bad\nline"`},
		{"http: panic serving 192.0.2.1:5: oh\nstack", `level=ERROR msg="a handler of HTTP panicked, its request was not answered; please report this" err="http: panic`},
		{"http: response.WriteHeader on hijacked connection", `level=INFO msg="HTTP server" err="http: response.WriteHeader`},
	} {
		out.Reset()
		l.Std().Println(c.text)
		if got := out.String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
	const want = `# HELP tsdbridge_port_tls_handshake_failures_total Connections whose TLS handshake failed.
# TYPE tsdbridge_port_tls_handshake_failures_total counter
tsdbridge_port_tls_handshake_failures_total{port="http"} 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
