package hbase

import (
	"log/slog"
	"strings"
	"testing"
)

func TestClientLogger(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		want  string
	}{
		{slog.LevelInfo, ""},
		{slog.LevelDebug, "level=DEBUG msg=\"connection closed\" a=b g.c=d\n"},
	} {
		var out strings.Builder
		o := &slog.HandlerOptions{Level: c.level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		clientLogger(slog.New(slog.NewTextHandler(&out, o))).With("a", "b").WithGroup("g").Error("connection closed", "c", "d")
		if out.String() != c.want {
			t.Errorf("at level %v: %q, want %q", c.level, out.String(), c.want)
		}
	}
}
