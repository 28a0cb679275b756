package forest

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// bigIndex holds a million leaves: dc.hostNNNN.{cpu,mem,...}.metricN, and one branch of a hundred
// thousand names.
func bigIndex(tb testing.TB) *Index {
	tb.Helper()
	x := NewIndex(nil)
	add := func(i int, leaf string, names ...string) {
		for depth := range len(names) + 1 {
			name := schema.RootName
			if depth > 0 {
				name = names[depth-1]
			}
			if ok, err := x.AddBranch(keyOf(names[:depth]), name); !ok || err != nil {
				tb.Fatal(ok, err)
			}
		}
		tsuid := []byte{0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, byte(i >> 16), byte(i >> 8), byte(i), 0, 1}
		if ok, err := x.AddLeaf(keyOf(names), schema.NameHash(leaf), schema.Leaf{DisplayName: leaf, TSUID: tsuid}); !ok || err != nil {
			tb.Fatal(ok, err)
		}
	}
	groups := []string{"b", "cpu", "disk", "mem", "net", "proc", "sys", "tcp", "udp"}
	for i := range 900_000 {
		host := i / 90
		add(i, fmt.Sprintf("%c%d", 'a'+i%10, i%10), "a", fmt.Sprintf("host%05d", host), groups[i/10%9])
	}
	for i := range 100_000 {
		add(900_000+i, fmt.Sprintf("name%06d", i), "flat")
	}
	return x
}

func keyOf(names []string) schema.BranchKey {
	k := schema.BranchKey{Tree: 1}
	for _, name := range names {
		k.Hashes = append(k.Hashes, schema.NameHash(name))
	}
	return k
}

func BenchmarkFind(b *testing.B) {
	before := heap()
	x := bigIndex(b)
	b.Logf("%d leaves, %d branches, %d bytes of memory a leaf", x.Leaves(), x.Branches(), (heap()-before)/uint64(x.Leaves()))
	for _, pattern := range []string{
		"a.host00042.cpu.a0", "a.host00042.*.*", "a.*.b.{c,d}.e*", "a.host0004?.b.{c2,d3}", "a.host00*.b.{c,d}*.e*", "a.host*1.b.{c,d}*", "flat.name0001*", "**.e4", "a.*.b.{c,d}*",
		"flat.*", "a.*", "**",
	} {
		b.Run(pattern, func(b *testing.B) {
			n := 0
			for b.Loop() {
				nodes, err := x.Find(context.Background(), pattern, FindOptions{Trees: []uint16{1}})
				if err != nil {
					b.Fatal(err)
				}
				n = len(nodes)
			}
			b.ReportMetric(float64(n), "nodes")
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkObserve appends new series to a tree in requests of 2000.
func BenchmarkObserve(b *testing.B) {
	for _, exclusive := range []bool{true, false} {
		b.Run(fmt.Sprintf("exclusive=%v", exclusive), func(b *testing.B) {
			f := newForest(b, newTables(b), exclusive)
			i := 0
			for b.Loop() {
				series := make([]NewSeries, 0, 2000)
				for range cap(series) {
					series = append(series, numbered(i, fmt.Sprintf("servers.web%05d.cpu.c%d", i/50, i%50)))
					i++
				}
				if err := f.Observe(b.Context(), series); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(i)*1e9, "ns/series")
		})
	}
}
