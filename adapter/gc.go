package adapter

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
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

// gcPercent is the GOGC for so many bytes in use.
func gcPercent(live uint64) int {
	return int(min(max(garbageRoom*100/max(live, 1), garbageShare), garbageMost))
}

// tuneGC keeps GOGC at gcPercent until ctx ends, unless the environment sets it.
func tuneGC(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	ticker := time.NewTicker(gcInterval)
	defer ticker.Stop()
	percent := 0
	for {
		metrics.Read(sample)
		// Setting it stops the world for a moment: not for small changes.
		if p := gcPercent(sample[0].Value.Uint64()); p > percent+percent/8 || p < percent-percent/8 {
			percent = p
			debug.SetGCPercent(p)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
