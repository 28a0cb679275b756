package put

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
)

// A point that is too far ahead of the clock is refused and named, by every protocol, and whether
// its series is known or not; without the limit it is stored.
func TestMaxFuture(t *testing.T) {
	now := time.Unix(1356998400, 0)
	for _, limit := range []time.Duration{0, 10 * time.Minute} {
		m := opentsdbtest.NewMemory()
		in := newTestIngest(m, func(o *Options) { o.MaxFuture, o.Now = limit, func() time.Time { return now } })
		api := NewHandler(DefaultHandlerOptions(), in, otherEndpoints(), nil)
		edge := now.Add(10 * time.Minute).UnixMilli()
		stored := 0
		for round := range 2 { // the second time the series is in the cache
			for _, ms := range []int64{edge, edge + 1} {
				for _, form := range []string{`{"metric":"m","timestamp":%d,"value":1,"tags":{"s":"a"}}`, `{"tags":{"s":"a"},"x":[],"metric":"m","timestamp":"%d","value":"1"}`} {
					w := ask(api, http.MethodPost, "/api/put?details", strings.NewReader(fmt.Sprintf(form, ms)))
					refused := limit > 0 && ms > edge
					if refused != (w.Code == http.StatusBadRequest) || refused != strings.Contains(w.Body.String(), "--opentsdb.max-future") {
						t.Errorf("limit %v, round %d, %d ms: %d %s", limit, round, ms, w.Code, w.Body)
					}
					if !refused {
						stored++
					}
				}
				for _, form := range []string{"put m %d 1 s=a\n", "put m %d 1  s=a \n", "put m %d +1.0 s=a\n"} {
					answer := telnetSays(t, in, fmt.Sprintf(form, ms))
					refused := limit > 0 && ms > edge
					if refused != strings.Contains(answer, "--opentsdb.max-future") || !refused && answer != "" {
						t.Errorf("limit %v, round %d, %q: answered %q", limit, round, fmt.Sprintf(form, ms), answer)
					}
					if !refused {
						stored++
					}
				}
			}
		}
		if n := len(m.Stored()); n != stored {
			t.Errorf("limit %v: %d points stored, want %d", limit, n, stored)
		}
	}
}

// telnetSays returns the answer to a connection that sends text.
func telnetSays(t *testing.T, in *Store, text string) string {
	t.Helper()
	tel, d := telnetOver(in)
	lines := NewLines(64<<10, 1024, nil)
	lines.Filled(copy(lines.Room(), text))
	tel.Take(t.Context(), &lines, d)
	return string(tel.Answer)
}
