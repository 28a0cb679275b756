package hbase_test

import (
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestSplitAtRegions cuts scans of a table of eight regions, one of which begins with a comma.
func TestSplitAtRegions(t *testing.T) {
	c := hbasetest.Start(t, map[string][]string{"tsdb": {"t"}, "other": {"t"}})
	e := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()})
	for _, key := range []string{"b", "d", ",,", "\x00\x01", "f", "\xff", "h,x"} {
		c.Split("tsdb", key)
	}
	c.Split("other", "e")
	for _, test := range []struct {
		start, stop string
		n           int
		want        string
	}{
		{"", "", 1, `""-""`},
		{"", "", 2, `""-"d" "d"-""`},
		{"", "", 4, `""-",," ",,"-"d" "d"-"h,x" "h,x"-""`},
		{"", "", 99, `""-"\x00\x01" "\x00\x01"-",," ",,"-"b" "b"-"d" "d"-"f" "f"-"h,x" "h,x"-"\xff" "\xff"-""`},
		{"c", "g", 99, `"c"-"d" "d"-"f" "f"-"g"`},
		{"d", "f", 99, `"d"-"f"`},
		{"c", "g", 2, `"c"-"d" "d"-"g"`},
	} {
		s := kv.Scan{Table: "tsdb", Family: "t", Start: []byte(test.start), Stop: []byte(test.stop)}
		parts, err := e.Split(t.Context(), s, test.n)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i, p := range parts {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%q-%q", p.Start, p.Stop)
		}
		if got != test.want {
			t.Errorf("Split of %q to %q into %d = %s, want %s", test.start, test.stop, test.n, got, test.want)
		}
	}
}
