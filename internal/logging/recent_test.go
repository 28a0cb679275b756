package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The last warnings and errors are kept, with their fields and groups, whatever the log itself leaves out.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	l, h := WatchRecent(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}), 3)
	logger := slog.New(h)
	logger.Info("quiet")
	logger.Warn("first")
	logger.With("protocol", "http").WithGroup("peer").Warn("second", "address", "192.0.2.1", slog.Group("tls", "version", 13), "err", errors.New("gone"))
	logger.Error(strings.Repeat("ü", 2000), "n", 1)
	if text := out.String(); strings.Contains(text, "second") || !strings.Contains(text, "n=1") {
		t.Errorf("the log has %s", text)
	}
	got := l.Records()
	for i := range got {
		if time.Since(got[i].Time) > time.Minute {
			t.Errorf("a record of %v", got[i].Time)
		}
		got[i].Time = time.Time{}
	}
	want := []Record{
		{Level: "ERROR", Message: strings.Repeat("ü", 500) + "…", Fields: []Field{{"n", "1"}}},
		{Level: "WARN", Message: "second", Fields: []Field{{"protocol", "http"}, {"peer.address", "192.0.2.1"}, {"peer.tls.version", "13"}, {"peer.err", "gone"}}},
		{Level: "WARN", Message: "first", Fields: []Field{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for range 10 {
		logger.Warn("last\xff", "x", "y\xff")
	}
	if got := l.Records(); len(got) != 3 || got[0].Message != "last\uFFFD" || got[2].Message != "last\uFFFD" {
		t.Errorf("%+v", got)
	}
}

// Records reach the log itself as they would without this package.
func TestHandler(t *testing.T) {
	var out bytes.Buffer
	_, h := WatchRecent(slog.NewJSONHandler(&out, nil), 3)
	err := slogtest.TestHandler(h, func() (all []map[string]any) {
		for line := range bytes.Lines(out.Bytes()) {
			var m map[string]any
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		return all
	})
	if err != nil {
		t.Error(err)
	}
}
