package hbase

import (
	"context"
	"log/slog"
)

// clientLogger returns the logger that gohbase gets. It reports every region that it finds as info
// and every connection that it closes as an error, also those that we close; what goes wrong comes
// back from the operation as an error anyway.
func clientLogger(l *slog.Logger) *slog.Logger { return slog.New(debugHandler{l.Handler()}) }

// debugHandler makes every record one for debugging.
type debugHandler struct{ to slog.Handler }

func (h debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.to.Enabled(ctx, slog.LevelDebug)
}

func (h debugHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.to.Handle(ctx, r)
}

func (h debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{h.to.WithAttrs(attrs)}
}

func (h debugHandler) WithGroup(name string) slog.Handler { return debugHandler{h.to.WithGroup(name)} }
