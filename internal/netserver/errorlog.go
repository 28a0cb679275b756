package netserver

import (
	"bytes"
	"context"
	"log" //nolint:depguard // http.Server takes no other
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// An ErrorLog takes what an http.Server has no answer for: failed handshakes of TLS, which it counts, and panics of
// handlers. Each kind has one message, so that the log can count it and leave most of a flood out.
type ErrorLog struct {
	logger     *slog.Logger
	handshakes prometheus.Counter
}

// NewErrorLog returns the log of the port of a name.
func NewErrorLog(name string, logger *slog.Logger, reg prometheus.Registerer) *ErrorLog {
	return &ErrorLog{logger, promauto.With(reg).NewCounter(prometheus.CounterOpts{
		Name: "tsdbridge_port_tls_handshake_failures_total", Help: "Connections whose TLS handshake failed.", ConstLabels: prometheus.Labels{"port": name},
	})}
}

// HandshakeFailed counts and logs a failed handshake. Any stranger can cause one, so it is no warning.
func (l *ErrorLog) HandshakeFailed(text string) {
	l.handshakes.Inc()
	l.logger.Info("TLS handshake failed", "err", text)
}

// Std returns the log in the form that http.Server takes.
func (l *ErrorLog) Std() *log.Logger { return log.New(l, "", 0) }

// The beginnings of net/http's texts.
var (
	handshakeText = []byte("http: TLS handshake error ")
	panicText     = []byte("http: panic serving ")
)

// Write implements io.Writer with one text of net/http.
func (l *ErrorLog) Write(text []byte) (int, error) {
	line := bytes.TrimSpace(text)
	if cause, ok := bytes.CutPrefix(line, handshakeText); ok {
		l.HandshakeFailed(string(cause))
		return len(text), nil
	}
	level, message := slog.LevelInfo, "HTTP server"
	if bytes.HasPrefix(line, panicText) {
		level, message = slog.LevelError, "a handler of HTTP panicked, its request was not answered; please report this"
	}
	l.logger.Log(context.Background(), level, message, "err", string(line))
	return len(text), nil
}
