package write

import (
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

func TestWriteLimitsValidate(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*Options){
		"--write.max-body-bytes":      func(l *Options) { l.BodyBytes = 0 },
		"--write.max-body-bytes=2":    func(l *Options) { l.DecodedBytes = 2 << 30 },
		"series of a request":         func(l *Options) { l.RequestSeries = -1 },
		"samples of a request":        func(l *Options) { l.RequestData = 0 },
		"label bytes of a series":     func(l *Options) { l.SeriesBytes = 1 << 24 },
		"label bytes of a request":    func(l *Options) { l.LabelBytes = 0 },
		"--write.max-concurrency":     func(l *Options) { l.Requests = 0 },
		"--write.max-in-flight-bytes": func(l *Options) { l.InFlightBytes = l.BodyBytes },
		"--storage.series-cache":      func(l *Options) { l.SeriesCache = 0 },
		"--write.max-future":          func(l *Options) { l.Future = -time.Second },
		"timeout of a request":        func(l *Options) { l.Timeout = 0 },
	} {
		l := DefaultOptions()
		change(&l)
		if err := l.Validate(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%v, want an error of %s", err, flag)
		}
	}
}

// Without a limit on the future, the only limit is that of the schema.
func TestRemoteWriteWithoutFutureLimit(t *testing.T) {
	d := newTestDoor(func(l *Options) { l.Future = 0 })
	got := describe(t, sendText(t, d, version2, `{__name__="up"} 1@4294967295999 2@4294967296000`))
	if !strings.HasPrefix(got, "400 written 1/0/0") || d.store.points[1][storage.MaxTime] != 1 {
		t.Errorf("%s, stored %s", got, d.store)
	}
}
