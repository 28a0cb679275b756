// Package memory keeps the memory of the process within what it may use: it adjusts Go's garbage collector, gives memory back, and
// ends queries that take more than was estimated.
package memory

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// How much garbage may gather before a collection. Series, head and caches fill most of the memory
// and have few pointers, so a collection costs little and is caused by the garbage of requests.
// With Go's usual 100 % a million series would take half a gigabyte more than they need, and a
// process with few series would collect every few requests.
const (
	garbageShare = 33        // percent of what is in use
	garbageRoom  = 128 << 20 // bytes, while that is more
	garbageMost  = 800       // percent
	gcInterval   = time.Second
)

// How memory is watched in addition.
const (
	watchInterval = 50 * time.Millisecond
	// quietShare is the share of the budget up to which memory in use counts as needed without
	// queries.
	quietShare = 16
	// idleRoom is how much memory may stay idle after large queries before it is returned to the
	// system, in bytes.
	idleRoom = 256 << 20
	// Less memory than that waits until it costs little to return it: what is idle or garbage, if it
	// is more than restRoom bytes and a share of what is in use, at most once in restInterval, and
	// after a second with so few allocations (restAllocs bytes) that it is not needed again at once. A
	// collection costs about a second of CPU for each GiB that may contain pointers, so the interval
	// grows by a second for each restScan of them: at most 0.2 % of a core.
	restRoom     = 32 << 20
	restShare    = 16
	restInterval = 10 * time.Second
	restAllocs   = 16 << 20
	restScan     = 2 << 20
)

// gcPercent returns the GOGC for so many bytes in use.
func gcPercent(live uint64) int {
	return int(min(max(garbageRoom*100/max(live, 1), garbageShare), garbageMost))
}

// A Keeper keeps the memory of the process within the sum of what it needs without queries, the
// head, writes under way and the budget. Near that sum the collector works harder, and queries that
// take more than was estimated are ended.
type Keeper struct {
	budget  *query.Budget
	writes  int64 // bytes that head and write requests may take
	machine int64 // bytes
	queries Queries

	quiet   int64 // bytes in use without queries
	percent int
	tuned   time.Time
	allocs  int64     // heap.allocs then
	rested  time.Time // when memory was last returned to the system
	limit   int64
}

// NewKeeper returns one. The head and write requests may take so many bytes in addition to the budget of queries.
func NewKeeper(b *query.Budget, writes int64, queries Queries) *Keeper {
	return &Keeper{budget: b, writes: writes, machine: Machine(), queries: queries}
}

// Queries are the queries that are being answered. The memory of some is only estimated, as of
// those that Prometheus' engine evaluates.
type Queries interface {
	AnyEstimated() bool
	EndEstimated()
}

// heap is the runtime's report on memory, in bytes.
type heap struct {
	live    int64 // when the last collection ended
	objects int64 // with garbage
	idle    int64 // neither in use nor given back
	scan    int64 // what a collection looks for pointers in
	allocs  int64 // allocated since the start
}

func readHeap(samples []metrics.Sample) heap {
	metrics.Read(samples)
	n := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return heap{live: n(0), objects: n(1), idle: n(2), scan: n(3), allocs: n(4)}
}

func heapSamples() []metrics.Sample {
	return []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/scan/heap:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
	}
}

// most returns how much memory may be in use.
func (k *Keeper) most() int64 {
	return max(min(k.quiet+k.writes+k.budget.Limit()+garbageRoom, k.machine/10*9), k.quiet+k.budget.Limit())
}

// Run adjusts GOGC and GOMEMLIMIT until ctx ends, unless the environment sets them, and watches the
// queries.
func (k *Keeper) Run(ctx context.Context) error {
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

// look checks the memory once.
func (k *Keeper) look(h heap, now time.Time) {
	used := k.budget.Used()
	if k.quiet == 0 || used <= k.budget.Limit()/quietShare && !k.queries.AnyEstimated() {
		k.quiet = max(h.live-used-k.budget.Spare(), 1)
	}
	if most := k.most(); h.live > most || h.objects > most+most/2 {
		k.queries.EndEstimated()
	}
	if now.Sub(k.tuned) < gcInterval {
		return
	}
	k.tuned = now
	k.tune(h)
	if used == 0 && (h.objects+h.idle > 2*h.live+idleRoom || k.mayRest(h, now)) {
		k.rested = now
		debug.FreeOSMemory()
	}
	k.allocs = h.allocs
}

// mayRest reports whether enough memory is idle or garbage to return it to the system.
func (k *Keeper) mayRest(h heap, now time.Time) bool {
	interval := max(restInterval, time.Duration(h.scan/restScan)*time.Second)
	return h.objects-h.live+h.idle > max(restRoom, h.live/restShare) && h.allocs-k.allocs < restAllocs && now.Sub(k.rested) >= interval
}

// tune adjusts the collector. Each adjustment stops the world for a moment, so small changes are
// ignored.
func (k *Keeper) tune(h heap) {
	if p := gcPercent(uint64(h.live)); os.Getenv("GOGC") == "" && (p > k.percent+k.percent/8 || p < k.percent-k.percent/8) {
		k.percent = p
		debug.SetGCPercent(p)
	}
	if most := k.most(); os.Getenv("GOMEMLIMIT") == "" && (most > k.limit+k.limit/8 || most < k.limit-k.limit/8) {
		k.limit = most
		debug.SetMemoryLimit(most)
	}
}
