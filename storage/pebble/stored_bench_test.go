package pebble

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// BenchmarkStored gets every nth row of an hour, by seeks and by stepping from the last row. Costs
// is derived from it.
func BenchmarkStored(b *testing.B) {
	e := benchStore(b)
	all := pointRows(1)
	apply(b, e, "f", all)
	slices.SortFunc(all, func(a, b kv.Mutation) int { return bytes.Compare(a.Key, b.Key) })
	for _, where := range []string{"memory", "files"} {
		if where == "files" {
			if err := e.Compact(b.Context(), "t"); err != nil {
				b.Fatal(err)
			}
		}
		for _, every := range []int{1, 4, 16, 64, 500} {
			var keys [][]byte
			for i := 0; i < len(all); i += every {
				keys = append(keys, all[i].Key)
			}
			for name, near := range map[string]bool{"seek": false, "near": true} {
				b.Run(fmt.Sprintf("%s/every %d/%s", where, every, name), func(b *testing.B) {
					found := 0
					for b.Loop() {
						err := e.GetStored(b.Context(), "t", "f", keys, near, func(int, []kv.StoredCell) error { found++; return nil })
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(found), "ns/row")
				})
			}
		}
	}
}
