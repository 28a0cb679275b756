package catalog

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestUIDSet numbers UIDs of all widths as a map does.
func TestUIDSet(t *testing.T) {
	for width := 1; width <= 8; width++ {
		r := rand.New(rand.NewPCG(uint64(width), 1))
		var s uidSet
		want := map[string]int32{}
		for range 5000 {
			uid := make([]byte, width)
			for n := range min(width, 2) { // few different ones
				uid[r.IntN(width)*(1-n)] = byte(r.IntN(256))
			}
			n, ok := want[string(uid)]
			if !ok {
				n = int32(len(want))
				want[string(uid)] = n
			}
			if got := s.number(string(uid)); got != n {
				t.Fatalf("width %d: UID %x has number %d, want %d", width, uid, got, n)
			}
		}
		for uid, n := range want {
			if s.uids[n] != uid {
				t.Fatalf("width %d: number %d is %x, want %x", width, n, s.uids[n], uid)
			}
		}
		if len(s.uids) != len(want) {
			t.Fatal(fmt.Sprint(len(s.uids), " UIDs, want ", len(want)))
		}
	}
}
