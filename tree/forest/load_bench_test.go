package forest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// BenchmarkLoadDeep reads names of 64 elements that share none: 14 000 of them have 880 000 branches.
func BenchmarkLoadDeep(b *testing.B) {
	rest := strings.Repeat(".a", 63)
	db, o := storedNames(b, 14_000, func(i int) string { return fmt.Sprintf("n%d", i) + rest })
	begin := cpuTime(b)
	for b.Loop() {
		f := New(db, o)
		if _, err := f.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
		if n := f.Index().Branches(); n != 14_000*63+1 {
			b.Fatal(n, "branches")
		}
	}
	b.ReportMetric(float64((cpuTime(b)-begin).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// BenchmarkLoad reads names from an embedded store into memory, as a start does:
// servers.webNNNNN.cpu.cN, and all on one branch.
func BenchmarkLoad(b *testing.B) {
	benchmarkLoad(b, "branches", func(i int) string { return fmt.Sprintf("servers.web%05d.cpu.c%d", i/50, i%50) })
	benchmarkLoad(b, "branch", func(i int) string { return fmt.Sprintf("flat.name%07d", i) })
}

func benchmarkLoad(b *testing.B, layout string, name func(i int) string) {
	for _, names := range []int{200_000, 1_000_000} {
		b.Run(fmt.Sprintf("%s/%d", layout, names), func(b *testing.B) {
			db, o := storedNames(b, names, name)
			begin := cpuTime(b)
			for b.Loop() {
				f := New(db, o)
				if _, err := f.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
				if n := f.Index().Leaves(); n != names {
					b.Fatal(n, "leaves")
				}
			}
			b.ReportMetric(float64((cpuTime(b)-begin).Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// storedNames returns names in an embedded store, in the order in which they come from carbon.
func storedNames(b *testing.B, names int, name func(i int) string) (kv.KV, Options) {
	b.Helper()
	o := DefaultOptions()
	o.Exclusive, o.DefaultTree = true, "graphite"
	o.Plain = func(s storage.Series) bool { return len(s.Tags) == 1 && s.Tags[0].Key == "-_" }
	e, err := pebble.Open(pebble.Options{Path: b.TempDir(), CacheBytes: 64 << 20, Tables: []kv.Table{
		{Name: o.TreeTable, Families: []string{schema.FamilyData}}, {Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	f := New(e, o)
	if _, err := f.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < names; {
		var batch []NewSeries
		for ; len(batch) < 2000; i++ {
			batch = append(batch, NewSeries{
				TSUID:  []byte{0, byte(i >> 16), byte(i >> 8), byte(i), 0, 0, 1, 0, 0, 1},
				Series: storage.Series{Metric: name(i), Tags: []storage.Tag{{Key: "-_", Value: "1"}}},
			})
		}
		if err := f.Observe(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	return e, o
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
