package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestClock sets the machine's clock back and forth, also across a power failure; the times of
// cells only ascend.
func TestClock(t *testing.T) {
	wall := int64(50_000)
	files := vfs.NewCrashableMem()
	o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e, err := open(o, files, func() int64 { return wall })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { e.Close() }()
	var before int64
	for i, step := range []struct {
		wall  int64
		crash bool
		exact bool // the time is the machine's
	}{
		{wall: 50_000, exact: true},
		{wall: 50_001, exact: true},
		{wall: 49_000},
		{wall: 60_000, exact: true},
		{wall: 60_900, exact: true},
		{wall: 40_000, crash: true},
		{wall: 61_000},
		{wall: 70_000, exact: true},
		{wall: 70_400, exact: true, crash: false},
		{wall: 70_399, crash: true},
		{wall: 72_000, crash: true, exact: true},
	} {
		wall = step.wall
		if step.crash {
			files = files.CrashClone(vfs.CrashCloneCfg{})
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if e, err = open(o, files, func() int64 { return wall }); err != nil {
				t.Fatal(err)
			}
		}
		apply(t, e, "f", rows("k"))
		got, err := e.Get(t.Context(), "t", "f", [][]byte{[]byte("k")})
		if err != nil {
			t.Fatal(err)
		}
		time := got[0].Cells[0].Time
		if time < before || time < wall || time > max(wall, before+markStep) || step.exact && time != wall {
			t.Errorf("step %d: time %d after %d with the machine at %d", i, time, before, wall)
		}
		before = time
	}
}
