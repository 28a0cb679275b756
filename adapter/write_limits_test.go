package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

func TestWriteLimitsValidate(t *testing.T) {
	if err := DefaultWriteLimits().Validate(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*WriteLimits){
		"--write.max-body-bytes":            func(l *WriteLimits) { l.BodyBytes = 0 },
		"--write.max-body-bytes=2":          func(l *WriteLimits) { l.DecodedBytes = 2 << 30 },
		"series of a request":               func(l *WriteLimits) { l.RequestSeries = -1 },
		"samples of a request":              func(l *WriteLimits) { l.RequestData = 0 },
		"label bytes of a series":           func(l *WriteLimits) { l.SeriesBytes = 1 << 24 },
		"label bytes of a request":          func(l *WriteLimits) { l.LabelBytes = 0 },
		"--write.max-concurrency":           func(l *WriteLimits) { l.Requests = 0 },
		"--write.max-in-flight-bytes":       func(l *WriteLimits) { l.InFlightBytes = l.BodyBytes },
		"--storage.series-cache":            func(l *WriteLimits) { l.SeriesCache = 0 },
		"--write.max-new-series-per-second": func(l *WriteLimits) { l.NewSeries = -1 },
		"--write.max-future":                func(l *WriteLimits) { l.Future = -time.Second },
		"timeout of a request":              func(l *WriteLimits) { l.Timeout = 0 },
	} {
		l := DefaultWriteLimits()
		change(&l)
		if err := l.Validate(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%v, want an error of %s", err, flag)
		}
	}
}

// Without a limit for the future, the end of the schema is the end.
func TestRemoteWriteWithoutFutureLimit(t *testing.T) {
	d := newWriteDoor(func(l *WriteLimits) { l.Future = 0 })
	got := describe(t, sendText(t, d, wireV2, `{__name__="up"} 1@4294967295999 2@4294967296000`))
	if !strings.HasPrefix(got, "400 written 1/0/0") || d.store.points[1][storage.MaxTime] != 1 {
		t.Errorf("%s, stored %s", got, d.store)
	}
}
