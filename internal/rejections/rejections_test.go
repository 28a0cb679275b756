package rejections

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Samples of each source are kept, a few of a second, and logged every ten seconds.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)), time.Now)
		texts := 0
		for range 1000 {
			l.Add(t.Context(), Sample{Source: RemoteWrite, Client: "192.0.2.1:5", Reason: "bad", Points: 2}, func() string { texts++; return strings.Repeat("ü", 1000) })
		}
		if texts != burst || strings.Count(out.String(), "points refused") != 1 {
			t.Errorf("%d texts are made, the log is %s", texts, out.String())
		}
		l.Add(t.Context(), Sample{Source: Carbon, Reason: "x\xff", Points: 1}, nil)
		time.Sleep(logPause)
		l.Add(t.Context(), Sample{Source: RemoteWrite, Reason: "last", Points: 1}, nil)
		if n := strings.Count(out.String(), "points refused"); n != 3 || !strings.Contains(out.String(), "suppressed=1998") {
			t.Errorf("the log is %s", out.String())
		}
		sources := l.Sources()
		if len(sources) != 2 || sources[0].Source != Carbon || sources[1].Refused != 2001 || !sources[1].Last.Equal(time.Now()) {
			t.Errorf("%+v", sources)
		}
		list := l.Samples("", 1000)
		if len(list) != burst+2 || list[0].Reason != "last" || len(list[2].Text) > mostText+5 {
			t.Errorf("%d samples: %+v", len(list), list[:3])
		}
		if list := l.Samples(Carbon, 1000); len(list) != 1 || list[0].Reason != "x\uFFFD" || list[0].Client != "" {
			t.Errorf("%+v", list)
		}
		if list := l.Samples("", 3); len(list) != 3 {
			t.Errorf("%+v", list)
		}
		for range 2 * mostSamples {
			time.Sleep(time.Second)
			l.Add(t.Context(), Sample{Source: RemoteWrite, Points: 1}, nil)
		}
		if list := l.Samples(RemoteWrite, 1000); len(list) != mostSamples {
			t.Errorf("%d samples are kept", len(list))
		}
	})
	var none *Log
	none.Add(t.Context(), Sample{Source: Carbon}, nil)
}
