package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestHidden: series that have sent nothing for long are in no search, nor are branches that have only
// such; they are drawn, and are found again when they send.
func TestHidden(t *testing.T) {
	old, lately := webNow-3601, webNow-3600
	now := int64(webNow)
	for name, store := range map[string]*graphitetest.Store{"local": graphitetest.New(t), "shared": graphitetest.Shared(t, kv.NewShared(graphitetest.Families()...))} {
		w := newWebOver(store, func(o *Options) {
			o.HideAfter, o.AllowDelete, o.Now = time.Hour, true, func() time.Time { return time.Unix(now, 0) }
		})
		w.Add(t, strings.NewReader(fmt.Sprintf("a.dead.x 1 %d\na.dead.y 1 %d\na.both.x 1 %d\na.both.y 1 %d\na.live 1 %d\nb.c.d 1 %d\n", old, old, old, lately, lately, old)))
		check := func(url, want string) {
			t.Helper()
			if got := w.get(url).Body.String(); got != want {
				t.Errorf("%s: %s answers %s, want %s", name, url, got, want)
			}
		}
		check("/metrics/expand?query=*", `{"results": ["a"]}`)
		check("/metrics/expand?query=a.*", `{"results": ["a.both", "a.live"]}`)
		check("/metrics/expand?query=a.*.*", `{"results": ["a.both.y"]}`)
		check("/metrics/expand?query=b.**", `{"results": []}`)
		check("/metrics/index.json", `["a.both.y", "a.live"]`)
		if got := w.get(fmt.Sprintf("/render?target=b.c.d&from=%d&until=%d&format=csv", old-60, old+60)); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "b.c.d,") {
			t.Errorf("%s: drawn %d %s", name, got.Code, got.Body)
		}
		w.Add(t, strings.NewReader(fmt.Sprintf("b.c.d 2 %d\n", lately)))
		check("/metrics/expand?query=*", `{"results": ["a", "b"]}`)
		check("/metrics/expand?query=b.**", `{"results": ["b.c", "b.c.d"]}`)
		// Branches with many dead leaves before one that lives, with names that patterns have other meanings for.
		var lines strings.Builder
		for i := range 600 {
			fmt.Fprintf(&lines, "m.{a}*.n%03d 1 %d\nm.[a]*.n%03d 1 %d\n", i, old, i, old)
		}
		fmt.Fprintf(&lines, "m.{a}*.n999 1 %d\n", lately)
		w.Add(t, strings.NewReader(lines.String()))
		for range 2 { // also when it is remembered
			check("/metrics/expand?query=m.*", `{"results": ["m.{a}*"]}`)
		}
		if got := w.send(http.MethodDelete, "/metrics?query=m.?a?*.n999&dryRun=0", ""); !strings.Contains(got.Body.String(), `"series": 1`) {
			t.Errorf("%s: deletion answers %s", name, got.Body)
		}
		check("/metrics/expand?query=m.*", `{"results": []}`)
		check("/metrics/expand?query=*", `{"results": ["a", "b"]}`)
		// A branch that is remembered is forgotten when its leaf gets old.
		now++
		check("/metrics/expand?query=*", `{"results": []}`)
		now--
		check("/metrics/expand?query=*", `{"results": ["a", "b"]}`)
	}
}
