package adapter

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A day of normal work fits on a screen: a start, points by all doors, flushes, compactions, retention, a stop.
func TestLogOfADay(t *testing.T) {
	if testing.Short() {
		t.Skip("a day has many hours: left out with -short")
	}
	var ahead atomic.Int64
	var out lockedBuffer
	o := storeTestOptions(t, write.Buffered)
	o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	o.Logger = slog.New(slog.NewTextHandler(&out, nil))
	o.Carbon.ListenAddress, o.OpenTSDB.ListenAddress = "127.0.0.1:0", "127.0.0.1:0"
	o.FlushInterval, o.Retention = 5*time.Millisecond, 6*time.Hour
	a, stop := runAdapter(t, o)
	const hours = 24
	for hour := range hours {
		now := o.Now()
		sendRemoteWrite(t, a, fmt.Sprintf(`{__name__="load", hour="%d"} 1@%d`, hour, now.UnixMilli()), 1)
		sendCarbon(t, a, fmt.Sprintf("a.b %d %d\n", hour, now.Unix()), `a.b [{"-_" "1"}]`, now.Unix()*1000)
		ahead.Add(int64(time.Hour))
		waitMetric(t, a, `tsdbridge_head_rows 0`)
	}
	stop()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	const screen = 25
	if len(lines) > screen {
		t.Errorf("%d lines, want at most %d:\n%s", len(lines), screen, out.String())
	}
	for _, line := range lines {
		if strings.Contains(line, "level=WARN") && !strings.Contains(line, "a new one is created") || strings.Contains(line, "level=ERROR") {
			t.Errorf("on a day without anything wrong: %s", line)
		}
	}
	t.Logf("%d lines", len(lines))
}
