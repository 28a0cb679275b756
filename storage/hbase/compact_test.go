package hbase_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
)

// TestMajorCompact: each region of the table, on whichever server, is written to files and then compacted. A region that
// its server refuses is an error, and the others are asked.
func TestMajorCompact(t *testing.T) {
	t.Parallel()
	c, e := fake(t, hbase.Options{})
	mustApply(t, e, puts(0, 10, 1))
	c.Split(table, key(3))
	c.Split(table, key(6))
	c.Move(table, key(7))
	if n, err := e.MajorCompact(t.Context(), table); n != 3 || err != nil {
		t.Fatalf("%d regions, %v; want 3", n, err)
	}
	var flushed, compacted []string
	for _, what := range c.Upkeep() {
		if name, ok := strings.CutPrefix(what, "FlushRegion "); ok {
			flushed = append(flushed, name)
			continue
		}
		name, ok := strings.CutPrefix(what, "CompactRegion major ")
		if !ok || !slices.Contains(flushed, name) {
			t.Errorf("%s comes too early", what)
		}
		compacted = append(compacted, name)
	}
	slices.Sort(flushed)
	slices.Sort(compacted)
	if len(slices.Compact(compacted)) != 3 || !slices.Equal(flushed, compacted) {
		t.Errorf("written to files: %q, compacted: %q", flushed, compacted)
	}
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if r.Method == "FlushRegion" && r.N == 4 {
			return hbasetest.Fault{Exception: "org.apache.hadoop.hbase.NotServingRegionException"}
		}
		return hbasetest.Fault{}
	})
	if n, err := e.MajorCompact(t.Context(), table); n != 2 || err == nil || !strings.Contains(err.Error(), "NotServingRegionException") {
		t.Errorf("%d regions, %v; want 2, and the one that was refused", n, err)
	}
}
