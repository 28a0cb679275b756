package adapter

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/tsdbridge/tsdbridge/budget"
)

// How much garbage may gather before it is collected. What fills the memory, the series, the head and the caches, has few pointers: a
// collection costs little and comes with the garbage of requests. Go's usual 100 % would let a million series take
// half a gigabyte more than they are, and collect every few requests while there are few of them.
const (
	garbageShare = 40        // percent of what is in use
	garbageRoom  = 128 << 20 // bytes, while that is more
	garbageMost  = 800       // percent
	gcInterval   = time.Second
)

// How memory is watched beside that.
const (
	watchInterval = 50 * time.Millisecond
	// quietShare is the part of the budget below which what is in use is taken for what the process needs without queries.
	quietShare = 16
	// idleRoom is how much memory may lie idle after large queries before it is given back, in bytes.
	idleRoom = 256 << 20
)

// gcPercent is the GOGC for so many bytes in use.
func gcPercent(live uint64) int {
	return int(min(max(garbageRoom*100/max(live, 1), garbageShare), garbageMost))
}

// memoryKeeper keeps the process within what it needs without queries, the head, writes under way and the budget: the collector works harder near
// that, and queries whose evaluation takes more than was foreseen are ended.
type memoryKeeper struct {
	budget  *budget.Budget
	writes  int64 // bytes that head and write requests may take
	machine int64 // bytes
	queries runningQueries

	quiet   int64 // bytes in use without queries
	percent int
	tuned   time.Time
	limit   int64
}

// runningQueries are the queries that Prometheus' engine evaluates.
type runningQueries interface {
	Any() bool
	EndAll()
}

// heap is what the runtime says of its memory, in bytes.
type heap struct {
	live    int64 // when the last collection ended
	objects int64 // with garbage
	idle    int64 // neither in use nor given back
}

func readHeap(samples []metrics.Sample) heap {
	metrics.Read(samples)
	n := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return heap{live: n(0), objects: n(1), idle: n(2)}
}

func heapSamples() []metrics.Sample {
	return []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
}

// most is how much memory may be in use.
func (k *memoryKeeper) most() int64 {
	return max(min(k.quiet+k.writes+k.budget.Limit()+garbageRoom, k.machine/10*9), k.quiet+k.budget.Limit())
}

// run keeps GOGC and GOMEMLIMIT until ctx ends, unless the environment sets them, and watches the queries.
func (k *memoryKeeper) run(ctx context.Context) error {
	samples := heapSamples()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		k.look(readHeap(samples), time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look is one look at the memory.
func (k *memoryKeeper) look(h heap, now time.Time) {
	used := k.budget.Used()
	if k.quiet == 0 || used <= k.budget.Limit()/quietShare && !k.queries.Any() {
		k.quiet = max(h.live-used, 1)
	}
	if most := k.most(); h.live > most || h.objects > most+most/2 {
		k.queries.EndAll()
	}
	if now.Sub(k.tuned) < gcInterval {
		return
	}
	k.tuned = now
	k.tune(h)
	if used == 0 && h.objects+h.idle > 2*h.live+idleRoom {
		debug.FreeOSMemory()
	}
}

// tune sets what the collector goes by. Setting it stops the world for a moment: not for small changes.
func (k *memoryKeeper) tune(h heap) {
	if p := gcPercent(uint64(h.live)); os.Getenv("GOGC") == "" && (p > k.percent+k.percent/8 || p < k.percent-k.percent/8) {
		k.percent = p
		debug.SetGCPercent(p)
	}
	if most := k.most(); os.Getenv("GOMEMLIMIT") == "" && (most > k.limit+k.limit/8 || most < k.limit-k.limit/8) {
		k.limit = most
		debug.SetMemoryLimit(most)
	}
}
