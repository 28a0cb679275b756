package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// BenchmarkHidden lists a thousand branches of a hundred leaves each, with and without --graphite.hide-after.
func BenchmarkHidden(b *testing.B) {
	store := graphitetest.New(b)
	names := make([]storage.Series, 0, 100_000)
	for i := range cap(names) {
		names = append(names, store.Names.FromPath(fmt.Sprintf("hosts.h%04d.disk%d.m%d", i/100, i%10, i/10%10)))
	}
	store.Register(b, names)
	var lines strings.Builder
	for i := range cap(names) / 10 {
		fmt.Fprintf(&lines, "hosts.h%04d.disk%d.m0 1 %d\n", i/10, i%10, webNow)
	}
	store.Add(b, strings.NewReader(lines.String()))
	for name, after := range map[string]time.Duration{"all": 0, "shown": time.Hour} {
		w := newWebOver(store, func(o *Options) { o.HideAfter = after })
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got := strings.Count(w.get("/metrics/find?query=hosts.*").Body.String(), "leaf"); got < 1000 {
					b.Fatal(got)
				}
			}
		})
	}
}
