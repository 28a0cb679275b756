package adapter

import (
	"testing"
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
