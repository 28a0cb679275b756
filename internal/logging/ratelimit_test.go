package logging

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A message that comes again and again is logged ten times in a minute; then the number of those left out is told.
// Others are not touched by it.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		logger := slog.New(RateLimit(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
		for range 50 {
			logger.With("a", 1).Warn("the store is away")
			logger.Debug("detail")
		}
		logger.Info("listening")
		if got := strings.Count(out.String(), "the store is away"); got != maxPerMinute {
			t.Errorf("%d lines in a minute, want %d", got, maxPerMinute)
		}
		if strings.Count(out.String(), "detail") != 50 || !strings.Contains(out.String(), "listening") {
			t.Error("other messages are left out")
		}
		time.Sleep(time.Minute)
		out.Reset()
		logger.Warn("the store is away")
		logger.Warn("the store is away")
		if got := strings.Count(out.String(), "suppressed=40"); got != 1 || strings.Count(out.String(), "away") != 2 {
			t.Errorf("after a minute: %s", out.String())
		}
	})
}
