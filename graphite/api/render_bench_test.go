package api

import (
	"fmt"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The data of the peers' measurements, with fewer hours: 1000 series with a point every 15 s, 256
// of them over a day and the others over two hours, and 10 000 series of five minutes.
const (
	benchSeries, benchLong = 1000, 256
	benchEnd               = 1_741_053_600 // a whole hour
	benchStep              = 15
)

func benchName(i int) string {
	return fmt.Sprintf("dc%d.host-%03d.m%d", i/500, i%500/2, i%2)
}

// newBench returns the API over an engine in the state that an hour's flushes leave.
func newBench(b *testing.B, db kv.KV) *web {
	b.Helper()
	w := newWebOver(graphitetest.Shared(b, db), func(o *Options) { o.Now = func() time.Time { return time.Unix(benchEnd, 0) } })
	var names, many []storage.Series
	for i := range benchSeries {
		names = append(names, w.Names.FromPath(benchName(i)))
	}
	for i := range 10_000 {
		many = append(many, w.Names.FromPath(fmt.Sprintf("many.g%02d.h%02d", i/100, i%100)))
	}
	refs, others := w.Register(b, names), w.Register(b, many)
	for hour := benchEnd - 24*3600; hour < benchEnd; hour += 3600 {
		list := refs
		if hour < benchEnd-2*3600 {
			list = refs[:benchLong]
		}
		w.flush(b, list, hour, hour+3600)
	}
	w.flush(b, others, benchEnd-300, benchEnd)
	return w
}

func (w *web) flush(b *testing.B, refs []storage.Ref, from, until int) {
	b.Helper()
	for len(refs) > 0 {
		n := min(len(refs), 1000)
		var batch storage.Batch
		for i, ref := range refs[:n] {
			for at := from; at < until; at += benchStep {
				batch.Add(ref, int64(at)*1000, float64((i*31+at)%977)+0.25)
			}
		}
		if err := w.Append(b.Context(), &batch); err != nil {
			b.Fatal(err)
		}
		refs = refs[n:]
	}
}

func BenchmarkRender(b *testing.B) {
	engines := map[string]func(b *testing.B) kv.KV{
		"memory": func(*testing.B) kv.KV { return graphitetest.Tables() },
		"pebble": openPebble,
	}
	for _, engine := range []string{"memory", "pebble"} {
		b.Run(engine, func(b *testing.B) { benchmarkRender(b, newBench(b, engines[engine](b))) })
	}
}

func openPebble(b *testing.B) kv.KV {
	b.Helper()
	var tables []kv.Table
	for _, name := range []string{"tsdb", "tsdb-uid", "tsdb-meta", "tsdb-tree"} {
		tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData, "id", "name"}})
	}
	e, err := pebble.Open(pebble.Options{Path: b.TempDir(), CacheBytes: 64 << 20, Tables: tables})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	return e
}

func benchmarkRender(b *testing.B, w *web) {
	for _, c := range []struct{ name, target, from string }{
		{"1x24h", benchName(0), "-24h"},
		{"256x1h", "dc0.host-{00?,01?,02?,03?,04?,05?,06?,07?,08?,09?,10?,11?,120,121,122,123,124,125,126,127}.*", "-1h"},
		{"sumPerSecond256x1h", "sumSeries(perSecond(dc0.host-{00?,01?,02?,03?,04?,05?,06?,07?,08?,09?,10?,11?,120,121,122,123,124,125,126,127}.*))", "-1h"},
		{"100of10k", "many.g07.*", "-5min"},
	} {
		b.Run(c.name, func(b *testing.B) {
			target := "/render?format=json&from=" + c.from + "&target=" + url.QueryEscape(c.target)
			if got := w.get(target); got.Code != http.StatusOK || got.Body.Len() < 1000 {
				b.Fatal(got.Code, got.Body)
			}
			b.ReportAllocs()
			begin := cpuTime(b)
			for b.Loop() {
				w.get(target)
			}
			b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime returns the CPU time that the process has used on all cores: on a busy machine it is more
// precise than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
