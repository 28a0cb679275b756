package memory

import (
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, garbageMost}, {1 << 20, garbageMost}, {64 << 20, 200}, {128 << 20, 100}, {256 << 20, 50}, {1 << 30, garbageShare}, {64 << 30, garbageShare},
	} {
		if got := gcPercent(c.live); got != c.want {
			t.Errorf("%d bytes in use: GOGC %d, want %d", c.live, got, c.want)
		}
	}
}

// Idle memory is returned to the system when it is worth it, and the more rarely the more a
// collection costs.
func TestMayRest(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		heap  heap
		since time.Duration // the last time
		want  bool
	}{
		{"little garbage", heap{live: 30 * mib, objects: 50 * mib, idle: 10 * mib}, time.Hour, false},
		{"idle", heap{live: 30 * mib, objects: 30 * mib, idle: 40 * mib}, time.Hour, true},
		{"garbage", heap{live: 30 * mib, objects: 70 * mib}, restInterval, true},
		{"lately", heap{live: 30 * mib, objects: 70 * mib}, restInterval - 1, false},
		{"little beside what is in use", heap{live: 1000 * mib, objects: 1010 * mib, idle: 50 * mib}, time.Hour, false},
		{"enough beside it", heap{live: 1000 * mib, objects: 1010 * mib, idle: 60 * mib}, time.Hour, true},
		{"busy", heap{live: 30 * mib, objects: 70 * mib, allocs: 16 * mib}, time.Hour, false},
		{"nearly quiet", heap{live: 30 * mib, objects: 70 * mib, allocs: 16*mib - 1}, time.Hour, true},
		{"dear", heap{live: 1000 * mib, objects: 1100 * mib, scan: 600 * mib}, 299 * time.Second, false},
		{"dear, rarely", heap{live: 1000 * mib, objects: 1100 * mib, scan: 600 * mib}, 300 * time.Second, true},
	} {
		now := time.Now()
		k := Keeper{rested: now.Add(-c.since)}
		if got := k.mayRest(c.heap, now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
